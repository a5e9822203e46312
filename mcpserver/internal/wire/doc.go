// Package wire reads and writes JSON-RPC messages for the server's own answers.
//
// [ParseCall] and [ParseParams] read the messages that clients really send, and decode only
// the members that a method takes. They decline everything unusual, which the MCP SDK then
// reads. [Encoder] writes an answer in pieces, so that a large one never exists as a whole.
// [Parse] is the slow, complete reader, with an error for each kind of line that is no
// message.
package wire
