// Package skillsext implements the MCP Skills extension, SEP-2640 (io.modelcontextprotocol/skills).
// It contains the wire types, the client's side of the methods, and the verification that a host
// must do.
//
// The package can be removed when the Go SDK has such a package (go-sdk#1238).
package skillsext
