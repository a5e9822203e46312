// Package skillsext speaks the MCP Skills extension, SEP-2640
// (io.modelcontextprotocol/skills): its types on the wire, a server's side of its
// methods, a client's side, and the verification that a host owes.
//
// The package is shaped like the one that the Go SDK is going to have
// (go-sdk#1238): handlers in a [Handlers], registered by [AddHandlers], (nil, nil)
// for what is unknown. When that one is released, this one can go.
package skillsext
