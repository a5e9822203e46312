// Package httpd serves MCP over Streamable HTTP, both protocol eras on one URL.
//
// A request first passes package httpguard; its body is read, and its caller and the caller's view
// are resolved once. Calls that the core accepts are answered as JSON. The rest goes to one of two
// SDK handlers: the handler with sessions refuses 2026-07-28, and the other has no sessions. This
// package keeps the table of the older versions' sessions, with their owners and timeouts.
package httpd
