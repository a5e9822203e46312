// Package httpd serves MCP over Streamable HTTP, both protocol eras on one URL.
//
// Package httpguard checks a request first. This package then reads the body, finds the caller, and
// passes the message to the core, which answers it. It also keeps the sessions of the older
// protocol versions and the open streams.
//
// A request is refused in the file of its check: post.go for its method, type and load, headers.go
// for its headers, session.go for its session, and stream.go and outbox.go for its stream. write.go
// writes the refusal.
package httpd
