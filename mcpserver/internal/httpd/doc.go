// Package httpd serves MCP over Streamable HTTP, both protocol eras on one URL.
//
// A request has passed package guard; its body is read, and its sender and what the sender
// sees are resolved once. Calls that the core takes are answered as JSON. The rest goes to
// the SDK, which serves one era or the other: a handler with sessions refuses 2026-07-28, and
// one without has no sessions. The sessions of older versions are in a table here, with their
// owners and their timeouts.
package httpd
