// Package stdio speaks MCP over a pair of pipes, one JSON-RPC message a line.
//
// One goroutine at a time reads lines. If the core takes a call, the goroutine that read it
// answers it; if that takes long, another one reads on. The other messages go to the SDK, for which a
// [Transport] is one of its own. A ledger notes which answers are owed, how many calls are
// worked on, and which call a cancellation takes back.
package stdio
