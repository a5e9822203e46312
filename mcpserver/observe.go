package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
)

// Use is something that a client did with skills, and was answered: it asked for
// the tools (tools/list), called one (tools/call), read a resource
// (resources/read) or took a prompt (prompts/get).
type Use struct {
	Client string // what it calls itself, or empty
	Method string
	Name   string // of the tool or prompt
	// Arguments are the call's, as they were given.
	Arguments json.RawMessage
	URI       string // of the resource
	// View is what the call's subject could see when it was answered.
	View    catalog.View
	Subject access.Subject // whose token the call bore
}

// observed tells [Options.Observe] of what was answered without an error.
func (s *Server) observed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if s.observe == nil || err != nil {
			return res, err
		}
		u := Use{Method: method}
		switch r := req.(type) {
		case *mcp.ListToolsRequest:
		case *mcp.CallToolRequest:
			if r.Params == nil || isFailure(res) {
				return res, err
			}
			u.Name, u.Arguments = r.Params.Name, r.Params.Arguments
		case *mcp.ReadResourceRequest:
			if r.Params != nil {
				u.URI = r.Params.URI
			}
		case *mcp.GetPromptRequest:
			if r.Params != nil {
				u.Name = r.Params.Name
			}
		default:
			return res, err
		}
		u.Client, u.Subject = clientOf(req).Name, subjectOf(req)
		if u.View, _ = s.catalog.View(ctx); u.View.Snapshot == nil {
			return res, err
		}
		s.observe(u)
		used(ctx, u)
		return res, err
	}
}

func isFailure(res mcp.Result) bool {
	r, ok := res.(*mcp.CallToolResult)
	return ok && r.IsError
}
