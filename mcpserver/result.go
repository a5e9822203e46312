package mcpserver

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/skillsext"
)

// result is a list or the contents of a resource, with what its era has:
// resultType, ttlMs and cacheScope came with 2026-07-28. The SDK's own types carry
// the last two in every version, and the first only out of its own handlers.
type result struct {
	mcp.ResultBase
	mcp.Cacheable
	ResultType string
	NextCursor string
	member     string // the name of what follows
	value      any
}

// newResult is the answer to a request with those parameters.
func newResult(p mcp.Params, c mcp.Cacheable, member string, value any) *result {
	r := &result{Cacheable: c, member: member, value: value}
	if modern(p) {
		r.ResultType = skillsext.Complete
	}
	return r
}

// MarshalJSON writes the members of the era.
func (r *result) MarshalJSON() ([]byte, error) {
	type hints struct {
		Meta       mcp.Meta `json:"_meta,omitempty"`
		ResultType string   `json:"resultType,omitempty"`
		TTLMs      *int     `json:"ttlMs,omitempty"`
		CacheScope string   `json:"cacheScope,omitempty"`
		NextCursor string   `json:"nextCursor,omitempty"`
	}
	h := hints{Meta: r.Meta, ResultType: r.ResultType, NextCursor: r.NextCursor}
	if r.ResultType != "" {
		h.TTLMs, h.CacheScope = &r.TTLMs, r.CacheScope
	}
	head, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Write(head[:len(head)-1])
	if len(head) > len("{}") {
		out.WriteByte(',')
	}
	out.WriteString(`"` + r.member + `":`)
	in := json.NewEncoder(&out)
	in.SetEscapeHTML(false)
	if err := in.Encode(r.value); err != nil {
		return nil, err
	}
	out.Truncate(out.Len() - 1) // the encoder's newline
	out.WriteByte('}')
	return out.Bytes(), nil
}

// errCursor refuses a cursor that no answer has given.
func errCursor() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid cursor: use the nextCursor of an answer before, or none"}
}

// errWhole refuses a cursor to a list that has one page.
func errWhole() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid cursor: this list is one page, and no answer of it has a nextCursor; ask without a cursor"}
}
