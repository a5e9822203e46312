// Package httpguard guards HTTP handlers with common checks: Host and Origin, bearer tokens, rates
// and the number of requests in flight.
//
// Each check refuses requests in its own file: origin.go checks the host and the origin, token.go
// tokens, rate.go rates, work.go the requests in flight, body.go the size of a body, and conns.go
// the connections. pages.go makes the checks of pages, which have a sign-in, and guard.go answers
// health checks. body.go also refuses a body that arrives slowly or for which there is no memory.
// record.go refuses an address that has sent too many wrong tokens. pages.go and package httpd
// answer with the refusal of work.go. The limits in serve.go make net/http refuse large or slow
// headers. proxies.go finds the client's address, and caller.go finds the caller.
//
// [Guard] mounts handlers, pages with sign-in, health checks and OAuth metadata. Each request has
// one record, from which the refusal counts and the audit log are made. The package knows the path
// of MCP, but not its messages.
package httpguard
