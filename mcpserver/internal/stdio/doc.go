// Package stdio speaks MCP over a pair of pipes, one JSON-RPC message a line.
//
// One goroutine reads lines. Each call that the core takes is answered in a goroutine of its
// own; the rest goes to the SDK, for which a [Transport] is one of its own. A ledger keeps
// the books on both: which answers are owed, how many calls are worked on, and what a
// cancellation takes back.
package stdio
