// Package httpguard serves HTTP handlers behind common checks: Host and Origin, bearer tokens,
// rates and the number of requests in flight.
//
// [Guard] mounts handlers, pages with sign-in, health checks and OAuth metadata. Each request
// has one record, from which refusals are counted and the audit log is written. The package
// knows the path of MCP, and nothing of its messages.
package httpguard
