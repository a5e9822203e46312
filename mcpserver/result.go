package mcpserver

import (
	"maps"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/skillsext"
)

// reply is what a method answers, before it is known in which era.
type reply struct {
	meta    map[string]any           // said beside the members; mostly nil
	hints   *mcp.Cacheable           // of lists and contents; they came with 2026-07-28
	members func(e *rawjson.Encoder) // writes the members of the result, one at least
	encoded []byte                   // the members, if they were written before
	failed  bool                     // a tool's answer that says so
	absent  bool                     // a tool's answer that there is no such skill, as contract 002 says without an error
	weight  int                      // of what the members hold; see [wire.Result]
}

// result is a reply in its era, for both doors.
type result struct {
	mcp.ResultBase // its Meta is not written: info is what the SDK puts there
	reply
	info []byte // the server as JSON, in a request of 2026-07-28; else nil
}

// Encode writes the result. Versions before 2026-07-28 have no resultType, no ttlMs, no
// cacheScope and no serverInfo; the SDK would write some of them all the same.
func (r *result) Encode(e *rawjson.Encoder) {
	e.Raw("{")
	switch {
	case len(r.meta) > 0:
		meta := maps.Clone(r.meta)
		if r.info != nil {
			meta[mcp.MetaKeyServerInfo] = rawJSON(r.info)
		}
		e.Raw(`"_meta":`)
		e.Value(meta)
		e.Raw(",")
	case r.info != nil:
		e.Raw(`"_meta":{"` + mcp.MetaKeyServerInfo + `":`)
		e.RawBytes(r.info)
		e.Raw("},")
	}
	if r.info != nil {
		e.Raw(`"resultType":"` + skillsext.Complete + `",`)
		if r.hints != nil {
			e.Raw(`"ttlMs":`)
			e.Int(int64(r.hints.TTLMs))
			e.Raw(`,"cacheScope":`)
			e.String(r.hints.CacheScope)
			e.Raw(",")
		}
	}
	if r.encoded != nil {
		e.RawBytes(r.encoded)
	} else {
		r.members(e)
	}
	e.Raw("}")
}

// Weight implements [wire.Result].
func (r *result) Weight() int { return r.weight }

// MarshalJSON is [result.Encode] for the SDK's door.
func (r *result) MarshalJSON() ([]byte, error) { return rawjson.Bytes(r.Encode), nil }

// rawJSON is JSON as it is.
type rawJSON []byte

// MarshalJSON returns the JSON.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// listed is a reply with a page of a list. each writes one item.
func listed[T any](member string, items []T, next string, hints mcp.Cacheable, each func(*rawjson.Encoder, T)) reply {
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

// value writes an item as encoding/json has it.
func value[T any](e *rawjson.Encoder, v T) { e.Value(v) }

// errCursor refuses a cursor that no answer has given.
func errCursor() error {
	return invalid("invalid cursor: use the nextCursor of an earlier answer, or none")
}

// errWhole refuses a cursor to a list that has one page.
func errWhole() error {
	return invalid("invalid cursor: this list is one page, and no answer of it has a nextCursor; ask without a cursor")
}

// invalid is the error for parameters that cannot be answered.
func invalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}
