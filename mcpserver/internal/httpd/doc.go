// Package httpd serves MCP over Streamable HTTP, both protocol eras on one URL, and pages
// beside it.
//
// A request passes the guard (Host and Origin), the check of its token and the limits; its
// body is read; then its sender and what they see are resolved, once. Calls that the core takes
// are answered as JSON. The rest goes to the SDK, which serves one era or the
// other: a handler with sessions refuses 2026-07-28, one without has no sessions. Sessions,
// of the versions that have them, are in a table here, with their owners and their time.
package httpd
