// Package wire reads and writes the JSON-RPC messages of MCP.
//
// [Parse] reads a message and [ParseParams] its parameters, with an error for each fault. They
// decode only the members that a method takes. [Result] is the content of an answer; it writes
// itself in pieces through an encoder of package rawjson, so a large one is never in memory as a
// whole.
package wire
