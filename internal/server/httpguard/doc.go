// Package httpguard guards HTTP handlers with common checks: Host and Origin, bearer tokens, rates
// and the number of requests in flight.
//
// A request is refused in the file of its check: origin.go for the host and the origin, token.go for
// tokens, rate.go for rates, work.go for the requests in flight, body.go for the size of a body, and
// pages.go for pages, which sign in instead; guard.go for health checks, and conns.go for
// connections. proxies.go finds the client's address, caller.go the caller.
//
// [Guard] mounts handlers, pages with sign-in, health checks and OAuth metadata. Each request has
// one record, from which the refusal counts and the audit log are made. The package knows the path
// of MCP, but not its messages.
package httpguard
