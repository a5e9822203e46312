package mcpserver

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/profile"
)

// uncached are the cache hints of a list that the client must not cache and that belongs to the
// client alone. The catalogue may change at any moment, and the client is then notified.
var uncached = mcp.Cacheable{TTLMs: 0, CacheScope: "private"}

var (
	isFalse  = false
	readOnly = &mcp.ToolAnnotations{
		ReadOnlyHint: true, DestructiveHint: &isFalse, IdempotentHint: true, OpenWorldHint: &isFalse,
	}
)

// maxKeptName is the maximum length, in bytes, of a client's name and of its version in a session.
// A snapshot caches texts for a client only if both together have at most this length.
const maxKeptName = 200

// isKept reports whether a snapshot caches texts for a client. If the client's name is long,
// caching costs more than making the answer again.
func isKept(c profile.Client) bool { return len(c.Name)+len(c.Version) <= maxKeptName }

// toolsKey is the key under which a snapshot caches a client's tools/list.
type toolsKey struct {
	server *Server
	client profile.Client
}

// toldKey is the key under which a snapshot caches [tool.Told] for a client.
type toldKey toolsKey

// current returns the key of a client's tools/list. Clients whose instructions are up to date, and
// clients without a session, share an answer.
func (k toolsKey) current(v catalog.View) toolsKey {
	if !k.client.Told.Known {
		return k
	}
	shared := k
	shared.client.Told = profile.Told{}
	if k.client.Told == catalog.Keep(v.Snapshot, toldKey(shared), func() profile.Told { return tool.Told(v, k.server.o.Tools, shared.client) }) {
		return shared
	}
	return k
}

func (s *Server) listTools(ctx context.Context, x *exchange) (reply, error) {
	if x.params.Cursor != "" {
		return reply{}, errWhole()
	}
	v, err := s.completeView(ctx)
	if err != nil {
		return reply{}, err
	}
	define := func() []byte {
		return rawjson.Bytes(listReply("tools", s.o.Tools, "", mcp.Cacheable{}, func(e *rawjson.Encoder, t *tool.Tool) {
			d := t.Define(v, x.client)
			e.Value(&mcp.Tool{Name: d.Name, Title: d.Title, Description: d.Description, InputSchema: d.Schema, Annotations: readOnly, Meta: d.Meta})
		}).members)
	}
	list, err := markIncomplete(v, reply{hints: &uncached}, false)
	if isKept(x.client) && list.meta == nil {
		list.encoded = catalog.Keep(v.Snapshot, toolsKey{s, x.client}.current(v), define)
	} else {
		list.encoded = define()
	}
	return list, err
}

// tool returns the tool with a name, or nil.
func (s *Server) tool(name string) *tool.Tool {
	if i := slices.IndexFunc(s.o.Tools, func(t *tool.Tool) bool { return t.Name == name }); i >= 0 {
		return s.o.Tools[i]
	}
	return nil
}

func (s *Server) callTool(ctx context.Context, x *exchange) (reply, error) {
	t := s.tool(x.params.Name)
	if t == nil {
		return reply{}, s.unknownTool(x.params.Name)
	}
	res, err := t.Call(ctx, s.host, x.params.Arguments)
	if err != nil {
		return reply{}, err
	}
	weight := len(res.Text)
	if res.Object != nil {
		weight *= 2 // structured content repeats the text
	}
	return reply{meta: res.Meta, failed: res.IsError, absent: res.Absent, weight: weight, members: func(e *rawjson.Encoder) {
		e.Raw(`"content":[{"type":"text","text":`)
		e.String(res.Text)
		e.Raw("}]")
		if res.Object != nil {
			e.Raw(`,"structuredContent":`)
			if o, ok := res.Object.(tool.Object); ok {
				e.Object(o.Fields())
			} else {
				e.Value(res.Object)
			}
		}
		if res.IsError {
			e.Raw(`,"isError":true`)
		} else if res.WritesIsError {
			e.Raw(`,"isError":false`)
		}
	}}, nil
}

// unknownTool returns the error for an unknown tool, which names the tools available.
func (s *Server) unknownTool(name string) error {
	text := "Unknown tool: " + display.Echo(name)
	for i, t := range s.o.Tools {
		text += [...]string{" (the tools are ", ", "}[min(i, 1)] + t.Name
	}
	if len(s.o.Tools) > 0 {
		text += ")"
	}
	return invalid(text)
}
