package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// listTTL is how long a client may keep a list, in milliseconds: the catalogue
// may change at any moment, and clients are told when it does.
const listTTL = 0

var (
	isFalse  = false
	readOnly = &mcp.ToolAnnotations{
		ReadOnlyHint: true, DestructiveHint: &isFalse, IdempotentHint: true, OpenWorldHint: &isFalse,
	}
)

// bareTool registers a tool with the SDK, which needs the name to route calls.
// What clients see comes from listTools.
func bareTool(t *tool.Tool) *mcp.Tool {
	return &mcp.Tool{Name: t.Name, Title: t.Title, InputSchema: t.Schema, Annotations: readOnly}
}

func (s *Server) listTools(ctx context.Context, p *mcp.ListToolsParams, c tool.Client) (mcp.Result, error) {
	if p != nil && p.Cursor != "" {
		return nil, errWhole()
	}
	v, err := s.whole(ctx)
	if err != nil {
		return nil, err
	}
	tools := make([]*mcp.Tool, 0, len(s.tools))
	for _, t := range s.tools {
		d := t.Define(v, c)
		tools = append(tools, &mcp.Tool{
			Name: d.Name, Title: d.Title, Description: d.Description, InputSchema: d.Schema, Annotations: readOnly, Meta: d.Meta,
		})
	}
	return newResult(p, mcp.Cacheable{TTLMs: listTTL, CacheScope: "private"}, "tools", tools), nil
}

func (s *Server) handler(t *tool.Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r, err := t.Call(tool.WithClient(ctx, s.callerOf(req)), s.host, req.Params.Arguments)
		if err != nil {
			return nil, err
		}
		if r.Absent {
			absent(ctx)
		}
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: r.Text}},
			StructuredContent: r.Object,
			IsError:           r.IsError,
			Meta:              r.Meta,
		}, nil
	}
}

// explicitly has the tools of contract 004 say isError where it is false too: the
// contract's success has the field, and the SDK leaves it out.
func (s *Server) explicitly(res mcp.Result, err error) (mcp.Result, error) {
	if r, ok := res.(*mcp.CallToolResult); ok && err == nil && !r.IsError {
		if _, is := r.StructuredContent.(tool.SkillDocument); is {
			return explicit{r}, nil
		}
	}
	return res, err
}

// explicit is a success that says so.
type explicit struct{ *mcp.CallToolResult }

// MarshalJSON writes the result with isError: false.
func (r explicit) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal(r.CallToolResult)
	if err != nil {
		return nil, err
	}
	return append(data[:len(data)-1], `,"isError":false}`...), nil
}

// toolError names the tools that there are where the one asked for is not.
func (s *Server) toolError(req mcp.Request, err error) error {
	call, ok := req.(*mcp.CallToolRequest)
	var wire *jsonrpc.Error
	if !ok || call.Params == nil || !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams || !strings.HasPrefix(wire.Message, "unknown tool ") {
		return err
	}
	text := "Unknown tool: " + skill.Echo(call.Params.Name)
	for i, t := range s.tools {
		text += [...]string{" (the tools are ", ", "}[min(i, 1)] + t.Name
	}
	if len(s.tools) > 0 {
		text += ")"
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
}
