package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
)

// Call calls a tool by the server's own name, with a JSON object of arguments. It returns the text
// of the result, at most 4 MiB. isError is set if the call failed or the server refused it. If err,
// an [*Error], is not nil, there is no result.
func (c *Connection) Call(ctx context.Context, tool string, arguments json.RawMessage) (text string, isError bool, err error) {
	var refused string
	var r *mcp.CallToolResult
	err = c.request(ctx, func(ctx context.Context) (err error) {
		session, err := c.live(ctx)
		if err != nil {
			return err
		}
		r, err = session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if ctx.Err() == nil {
			refused = refusal(err)
		}
		return err
	})
	switch {
	case refused != "":
		return "The server refuses the call: " + safeLine(c.secrets.hide(refused)), true, nil
	case err != nil:
		return "", false, err
	case r.NeedsInput():
		return "The server asks for something before it answers, which knack does not give.", true, nil
	}
	return c.secrets.hide(c.secrets.textOf(r)), r.IsError, nil // a secret may span two parts
}

// rejected is the library's error code for a request that did not reach the server.
const rejected = -32005

// refusal returns the server's error if it refused a request, or "".
func refusal(err error) string {
	var wireErr *jsonrpc.Error
	if !errors.As(err, &wireErr) || wireErr.Code == rejected {
		return ""
	}
	return fmt.Sprintf("%s (%d)", wireErr.Message, wireErr.Code)
}

// textOf joins the texts of a result, and replaces other contents with a short name. Secrets
// are hidden before texts are cut or encoded.
func (s secrets) textOf(r *mcp.CallToolResult) string {
	var parts []string
	isText := false
	add := func(text string) {
		isText = true
		parts = append(parts, strings.ToValidUTF8(s.hide(text), "\ufffd"))
	}
	for _, content := range r.Content {
		switch one := content.(type) {
		case *mcp.TextContent:
			add(one.Text)
		case *mcp.ImageContent:
			parts = append(parts, nameOf("image", len(one.Data)))
		case *mcp.AudioContent:
			parts = append(parts, nameOf("audio", len(one.Data)))
		case *mcp.ResourceLink:
			parts = append(parts, "[link to "+display.Echo(s.hide(one.URI))+"]")
		case *mcp.EmbeddedResource:
			switch resource := one.Resource; {
			case resource == nil:
			case resource.Blob != nil:
				parts = append(parts, nameOf("resource "+display.Echo(s.hide(resource.URI)), len(resource.Blob)))
			default:
				add(resource.Text)
			}
		default:
			parts = append(parts, "[something that is not text]")
		}
	}
	if !isText && r.StructuredContent != nil {
		if data, err := rawjson.Marshal(s.hideIn(r.StructuredContent)); err == nil {
			parts = append(parts, string(data))
		}
	}
	return strings.Join(parts, "\n")
}

// nameOf returns a short name for content that is not text, with its size.
func nameOf(what string, bytes int) string {
	size := fmt.Sprintf("%d B", bytes)
	if bytes >= 1000 {
		size = fmt.Sprintf("%d kB", (bytes+500)/1000)
	}
	return "[" + what + ", " + size + "]"
}
