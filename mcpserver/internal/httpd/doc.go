// Package httpd serves MCP over Streamable HTTP, both protocol eras on one URL.
//
// A request first passes package httpguard; its body is read, and its caller and the caller's view
// are resolved once. The core answers it. This package keeps the table of the older versions'
// sessions, with their owners, timeouts and last notifications, and the streams.
//
// A request is refused in the file of its check: post.go for its method, type and load, headers.go
// for its headers, session.go for its session, and stream.go and outbox.go for its stream. write.go
// writes the refusal.
package httpd
