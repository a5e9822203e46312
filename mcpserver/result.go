package mcpserver

import (
	"maps"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/skillsext"
)

// reply is the answer of a method, before the protocol era is known.
type reply struct {
	meta    map[string]any           // written beside the members; mostly nil
	hints   *mcp.Cacheable           // for lists and contents, since 2026-07-28
	members func(e *rawjson.Encoder) // writes the members of the result; nil if it has none
	encoded []byte                   // the members, if already encoded
	failed  bool                     // a tool's answer that reports a failure
	absent  bool                     // a tool found no such skill; contract 002 does not report this as an error
	weight  int                      // memory of the members; see [wire.Result]
}

// result is a reply in its protocol era.
type result struct {
	reply
	info []byte // the server as JSON, for a request of 2026-07-28; else nil
}

// Encode encodes the result. Versions before 2026-07-28 have no resultType, ttlMs, cacheScope or
// serverInfo.
func (r *result) Encode(e *rawjson.Encoder) {
	more := "" // separates members
	e.Raw("{")
	switch {
	case len(r.meta) > 0:
		meta := maps.Clone(r.meta)
		if r.info != nil {
			meta[mcp.MetaKeyServerInfo] = rawJSON(r.info)
		}
		e.Raw(`"_meta":`)
		e.Value(meta)
		more = ","
	case r.info != nil:
		e.Raw(`"_meta":{"` + mcp.MetaKeyServerInfo + `":`)
		e.RawBytes(r.info)
		e.Raw("}")
		more = ","
	}
	if r.info != nil {
		e.Raw(`,"resultType":"` + skillsext.Complete + `"`)
		if r.hints != nil {
			e.Raw(`,"ttlMs":`)
			e.Int(int64(r.hints.TTLMs))
			e.Raw(`,"cacheScope":`)
			e.String(r.hints.CacheScope)
		}
	}
	switch {
	case r.encoded != nil:
		e.Raw(more)
		e.RawBytes(r.encoded)
	case r.members != nil:
		e.Raw(more)
		r.members(e)
	}
	e.Raw("}")
}

// Weight implements [wire.Result].
func (r *result) Weight() int { return r.weight }

// rawJSON is encoded JSON.
type rawJSON []byte

// MarshalJSON returns the JSON.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// listReply returns a reply with one page of a list. each writes one item.
func listReply[T any](member string, items []T, next string, hints mcp.Cacheable, each func(*rawjson.Encoder, T)) reply {
	return reply{hints: &hints, members: func(e *rawjson.Encoder) {
		e.Raw(`"` + member + `":[`)
		for i, item := range items {
			if i > 0 {
				e.Raw(",")
			}
			each(e, item)
		}
		e.Raw("]")
		if next != "" {
			e.Raw(`,"nextCursor":`)
			e.String(next)
		}
	}}
}

// value writes an item as encoding/json encodes it.
func value[T any](e *rawjson.Encoder, v T) { e.Value(v) }

// errCursor refuses a cursor that no answer has returned.
func errCursor() error {
	return invalid("invalid cursor: use the nextCursor of an earlier answer, or none")
}

// errWhole refuses a cursor for a list that has only one page.
func errWhole() error {
	return invalid("invalid cursor: this list is one page, and no answer of it has a nextCursor; ask without a cursor")
}

// invalid returns the error for parameters that cannot be answered.
func invalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}
