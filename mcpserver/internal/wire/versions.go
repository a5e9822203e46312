package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/skillsext"
)

// batched is a protocol version that is not served, since its servers must accept batches. No
// client in use sends batches, and every other version forbids them. A client that proposes batched
// gets unbatched, the version before it. Clients of that time speak this version too, but no later
// one.
const (
	batched   = "2025-03-26"
	unbatched = "2024-11-05"
)

// Versions returns the protocol versions served, newest first. The result must not be changed.
var Versions = sync.OnceValue(func() []string {
	return slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(v string) bool { return v == batched })
})

// Sessions returns the versions with sessions, newest first.
var Sessions = sync.OnceValue(func() []string {
	return slices.DeleteFunc(slices.Clone(Versions()), func(v string) bool { return v >= skillsext.Since })
})

// Sessionless returns the versions without sessions, newest first.
var Sessionless = sync.OnceValue(func() []string {
	return slices.DeleteFunc(slices.Clone(Versions()), func(v string) bool { return v < skillsext.Since })
})

// Negotiate returns the version of a session, given the version that its client proposes.
func Negotiate(proposed string) string {
	switch {
	case proposed == batched:
		return unbatched
	case slices.Contains(Sessions(), proposed):
		return proposed
	}
	return Sessions()[0]
}

// Unsupported returns the error for a protocol version that the server does not support.
func Unsupported(supported []string, requested string) *jsonrpc.Error {
	if !IsVersion(requested) {
		requested = ""
	}
	data, _ := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: supported, Requested: requested}) // strings always marshal
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Data: data,
		Message: fmt.Sprintf("unsupported protocol version (supported here: %s)", strings.Join(supported, ", "))}
}
