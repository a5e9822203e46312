package mcpserver

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/tool"
)

// maxLinks bounds the links beside an answer: they repeat, for the client, what
// the text says to the model.
const maxLinks = 10

// content is an answer's text and, where it found skills, links to them. Loading a
// skill or reading its file answers with the content itself, and contract 004
// forbids links, so that only a search has some. Resource links exist since
// 2025-06-18; an older client gets none.
func content(r tool.Result, ss *mcp.ServerSession) []mcp.Content {
	out := []mcp.Content{&mcp.TextContent{Text: r.Text}}
	found, ok := r.Object.(tool.FindResult)
	if !ok || !takesLinks(ss) {
		return out
	}
	for _, f := range found.Skills[:min(len(found.Skills), maxLinks)] {
		out = append(out, &mcp.ResourceLink{URI: f.URI, Name: f.Name, Description: f.Description, MIMEType: markdown})
	}
	return out
}

func takesLinks(ss *mcp.ServerSession) bool {
	if ss == nil {
		return false
	}
	// What the client proposed. A version that is not served was answered with one
	// that is, and has them.
	p := ss.InitializeParams()
	return p != nil && (p.ProtocolVersion >= "2025-06-18" || !slices.Contains(mcp.SupportedProtocolVersions(), p.ProtocolVersion))
}
