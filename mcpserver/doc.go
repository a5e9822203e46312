// Package mcpserver serves a catalogue and a set of tools as an MCP server, over stdio and
// HTTP.
//
// It answers every method itself, from the catalogue's snapshot, so that answers agree with each
// other at any size. The table methods in call.go has all of them; Server.take accepts a call
// of either protocol era or refuses it, and Server.answer answers it. stdio.go and http.go connect
// the transports, session.go has the handshake and the sessions, and result.go encodes answers.
//
// The official SDK is used for its types and, in tests, for its client. Its server is not used, so
// that no second server rewords or buffers the answers.
package mcpserver
