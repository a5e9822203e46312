// Package skillsext implements the MCP Skills extension, SEP-2640 (io.modelcontextprotocol/skills).
// It has the wire types, the server's and the client's side of the methods, and the verification
// that a host must do.
//
// The package has the shape of the one proposed for the Go SDK (go-sdk#1238): handlers in a
// [Handlers], registered by [AddHandlers], (nil, nil) for unknown skills. It can be removed
// when the SDK has its own.
package skillsext
