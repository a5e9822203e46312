// Package wire reads and writes JSON-RPC messages for the server's own answers.
//
// [ParseCall] and [ParseParams] read the messages that clients really send, and decode only the
// members that a method takes. They decline everything unusual, which the MCP SDK then reads.
// [Parse] is the slow, complete reader, with an error for each kind of invalid line. [Result] is
// the content of an answer; it writes itself in pieces through an encoder of package rawjson, so a
// large one is never in memory as a whole.
package wire
