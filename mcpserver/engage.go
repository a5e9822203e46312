package mcpserver

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/mcpserver/internal/publication"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
	"github.com/knack-dev/knack/skillsext"
)

// The server answers for skill://engage even if no source has that skill. A server must answer
// skills/get for every skill that it serves, even for one that no list has (SEP-2640).
const (
	engageBase = "engage"
	engageURI  = skill.Scheme + engageBase + "/" + skill.MainFile
)

// engageEntry returns the entry of skill://engage if uri is its URI, else nil.
func (s *Server) engageEntry(uri skill.URI) *skillsext.Skill {
	if s.host.Engage == nil || uri.Path() != engageBase+"/"+skill.MainFile {
		return nil
	}
	return publication.OfText(engageURI, []byte(s.host.Engage()))
}

// engageFile returns the only file of skill://engage if folder is its folder, else nil.
func (s *Server) engageFile(folder skill.URI) *mcp.Resource {
	if s.host.Engage == nil || folder.Path() != engageBase {
		return nil
	}
	text := s.host.Engage()
	description, _ := frontmatter.Parse([]byte(text)).Field("description")
	return &mcp.Resource{
		URI: engageURI, Name: engageBase, Description: display.OneLine(description.Value.Text), MIMEType: markdown, Size: int64(len(text)),
	}
}
