// Package mcpserver serves a catalogue and a set of tools as an MCP server, over stdio and
// HTTP.
//
// It answers calls itself, from the catalogue's snapshot, so that answers agree with each
// other at any size. [Server.answer] in call.go answers every call; sdk.go, stdio.go and
// http.go lead to it, and result.go encodes the answer. The official SDK keeps sessions and
// the two protocol eras, and reads unusual calls. doc/conformance.md names each workaround.
package mcpserver
