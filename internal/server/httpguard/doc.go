// Package httpguard guards HTTP handlers with common checks: Host and Origin, bearer tokens,
// rates and the number of requests in flight.
//
// [Guard] mounts handlers, pages with sign-in, health checks and OAuth metadata. Each request has
// one record, the basis of refusal counts and the audit log. The package knows the path of MCP,
// but not its messages.
package httpguard
