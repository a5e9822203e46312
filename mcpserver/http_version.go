package mcpserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/skillsext"
)

// metaVersion is the protocol version that a call names in its _meta, as every one
// does since 2026-07-28.
func metaVersion(params json.RawMessage) string {
	// Maps, because the fields of a struct would match in any case.
	var p, meta map[string]json.RawMessage
	var version string
	if json.Unmarshal(params, &p) != nil || json.Unmarshal(p["_meta"], &meta) != nil || json.Unmarshal(meta[mcp.MetaKeyProtocolVersion], &version) != nil {
		return ""
	}
	return version
}

// agreed refuses a request whose header and body name different protocol versions,
// or one that is not served. The SDK's handler for sessions would answer the first
// as the second, with a list of versions that lacks the one which is meant.
//
// Of 2026-07-28, Streamable HTTP, Protocol Version Header: where the two differ,
// HeaderMismatch; where the version is not implemented, UnsupportedProtocolVersion
// with those that are. Both have the status 400.
func agreed(header string, s sent) *jsonrpc.Error {
	versions := mcp.SupportedProtocolVersions()
	switch {
	case s.version != "" && s.version != header:
		return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "header mismatch: Mcp-Protocol-Version must say what " + mcp.MetaKeyProtocolVersion + " says in the body"}
	case header == "": // there was none before 2025-06-18
		return nil
	case s.version != "" && header < skillsext.Since:
		// A version that has sessions, in the form of those that have none.
		versions = slices.DeleteFunc(versions, func(v string) bool { return v < skillsext.Since })
	case slices.Contains(versions, header):
		return nil
	}
	data, err := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: versions, Requested: header})
	if err != nil {
		data = nil // strings always marshal
	}
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Data: data,
		Message: fmt.Sprintf("unsupported protocol version (supported here: %s)", strings.Join(versions, ", "))}
}
