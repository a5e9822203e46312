// Package httpd serves MCP over Streamable HTTP, both protocol eras on one URL.
//
// A request first passes package httpguard; its body is read, and its caller and the caller's view
// are resolved once. The core answers it. This package keeps the table of the older versions'
// sessions, with their owners, timeouts and last notifications, and the streams.
package httpd
