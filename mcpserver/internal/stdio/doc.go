// Package stdio speaks MCP over a pair of pipes, one JSON-RPC message a line.
//
// One goroutine at a time reads lines. If the core accepts a call, the goroutine that read it
// answers it; if that takes long, another one continues to read. The other messages go to the SDK,
// to which [Transport] is an ordinary transport. A ledger records the owed answers, the number of
// running calls, and the call that a cancellation is for.
package stdio
