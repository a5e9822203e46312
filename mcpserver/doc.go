// Package mcpserver serves a catalogue and a set of tools as an MCP server, over stdio and
// HTTP.
//
// It answers every method from one snapshot of the catalogue, so that answers never contradict each
// other. The table methods in call.go lists the methods. Server.take accepts or refuses a call of
// either protocol era, and Server.answer answers an accepted one. stdio.go and http.go connect the
// transports, session.go has the handshake and the sessions, and result.go encodes answers.
//
// The official SDK is used for its types and, in tests, for its client. Its server is not used,
// because it would reword and buffer the answers.
package mcpserver
