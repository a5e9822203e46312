// Package stdio speaks MCP over a pair of pipes, one JSON-RPC message a line.
//
// One goroutine at a time reads lines. The goroutine that read a call answers it; if that takes
// long, another one continues to read. A ledger records the running calls and the answers that are
// owed. It also finds the call that a cancellation names.
package stdio
