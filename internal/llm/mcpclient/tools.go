package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
)

// Tool is a server's tool in the form that a model gets.
type Tool struct {
	// Name is the tool's name for the model: the server's name, two underscores, and the tool's
	// own name. Underscores replace characters other than A-Z, a-z, 0-9, "_" and "-".
	Name string
	// Server is the user's name for the server, and Own the server's name for the tool.
	Server, Own string
	// Description is the server's description without characters that hide or steer text.
	Description string
	Schema      json.RawMessage // of its arguments: a JSON object
}

// Bounds on a server's list of tools. A model reads the whole list with each request, and can
// choose only among far fewer tools than these bounds allow.
const (
	maxPages       = 1_000
	maxTools       = 1_000
	maxDefinitions = 4 << 20 // bytes of all descriptions and schemas
	maxDescription = 10_000  // characters
)

// MaxName is the longest tool name that every model accepts, in characters.
const MaxName = 64

// Tools lists the server's tools, in its order. The error is an [*Error].
func (c *Connection) Tools(ctx context.Context) ([]Tool, error) {
	if caps := c.current().InitializeResult().Capabilities; caps == nil || caps.Tools == nil {
		return nil, &Error{Server: c.server.Name, What: "the server has no tools"}
	}
	var all []Tool
	size := 0
	seen := map[string]bool{}
	params := &mcp.ListToolsParams{}
	for range maxPages {
		var page *mcp.ListToolsResult
		if err := c.request(ctx, func(ctx context.Context) error {
			session, err := c.live(ctx)
			if err != nil {
				return err
			}
			page, err = session.ListTools(ctx, params)
			return err
		}); err != nil {
			return nil, err
		}
		for _, t := range page.Tools {
			one := c.tool(t)
			if size += len(one.Description) + len(one.Schema); len(all) == maxTools || size > maxDefinitions {
				return nil, &Error{Server: c.server.Name, What: fmt.Sprintf("the server lists more than %s tools, or more than %d MiB of them", display.Thousands(maxTools), maxDefinitions>>20)}
			}
			all = append(all, one)
		}
		next := page.NextCursor
		if next == "" || seen[next] { // a repeated cursor would repeat the pages
			return all, nil
		}
		seen[next] = true
		params = &mcp.ListToolsParams{Cursor: next}
	}
	return nil, &Error{Server: c.server.Name, What: fmt.Sprintf("the server's list of tools has more than %s pages", display.Thousands(maxPages))}
}

func (c *Connection) tool(t *mcp.Tool) Tool {
	one := Tool{Name: nameFor(c.server.Name, c.secrets.hide(t.Name)), Server: c.server.Name, Own: t.Name}
	text := strings.ToValidUTF8(c.secrets.hide(t.Description), "\ufffd")
	one.Description = display.Visible(display.Cut(text, maxDescription), display.Escaped)
	schema, err := rawjson.Marshal(c.secrets.hideIn(t.InputSchema))
	if _, object := t.InputSchema.(map[string]any); !object || err != nil {
		schema = []byte(`{"type":"object"}`)
	}
	one.Schema = schema
	return one
}

// nameFor returns the tool's name for the model.
func nameFor(server, own string) string {
	return server + "__" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, own)
}

// NameError is a conflict between the names of the servers' tools.
type NameError struct{ What, Fix string }

// Error names the tools, without the fix.
func (e *NameError) Error() string { return e.What }

// CheckNames refuses names that are too long for a model, and equal names of two tools. The error
// is a [*NameError].
func CheckNames(tools []Tool) error {
	taken := map[string]Tool{}
	for _, t := range tools {
		own := display.Quote(t.Own)
		if first, ok := taken[t.Name]; ok {
			return &NameError{fmt.Sprintf("%s: the tools %s and %s of the server would both be called %s", t.Server, display.Quote(first.Own), own, display.Echo(t.Name)),
				"leave out --mcp " + t.Server + ", or have the server's operator rename one of them"}
		}
		taken[t.Name] = t
		if n := len(t.Name); n > MaxName || t.Own == "" {
			return &NameError{fmt.Sprintf("%s: the tool %s would be called %s, which has %d characters; a model takes a name and at most %d", t.Server, own, display.Echo(t.Name), n, MaxName),
				"give the server a shorter name in knack.yaml, or leave out --mcp " + t.Server}
		}
	}
	return nil
}
