// Package mcpserver serves a catalogue and a set of tools as an MCP server, over stdio and
// HTTP.
//
// It answers lists, reads and calls of tools itself, from the catalogue's snapshot, so that
// answers agree with each other at any size. The official SDK keeps sessions, subscriptions
// and the two protocol eras, and reads what is no usual call. doc/conformance.md names each
// place where the SDK needs help, with the upstream issue.
package mcpserver
