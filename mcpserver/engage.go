package mcpserver

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
	"github.com/knack-dev/knack/skillsext"
)

// engageBase is the path of the skill that answers though no source has it.
const engageBase = "engage"

// unlisted is the entry of skill://engage where no skill has that URI and the
// server answers it all the same: a server answers skills/get for every skill that
// it serves, listed or not (SEP-2640). It is nil for any other URI.
func (s *Server) unlisted(uri skill.URI) *skillsext.Skill {
	main := engageBase + "/" + skill.MainFile
	if s.host.Engage == nil || uri.Path() != main {
		return nil
	}
	text := []byte(s.host.Engage())
	doc := frontmatter.Parse(text)
	return &skillsext.Skill{
		URI: skill.Scheme + main, Frontmatter: skillsext.Frontmatter(doc.JSON()),
		Resources: skillsext.StaticResources(skillsext.Resource{
			URI: skill.Scheme + main, Digest: skill.DigestOf(text).String(), Size: int64(len(text)),
		}),
	}
}

// unlistedFolder is the one file of skill://engage then.
func (s *Server) unlistedFolder(uri skill.URI) *mcp.Resource {
	if s.host.Engage == nil || uri.Path() != engageBase {
		return nil
	}
	text := s.host.Engage()
	doc := frontmatter.Parse([]byte(text))
	description, _ := doc.Field("description")
	return &mcp.Resource{
		URI: skill.Scheme + engageBase + "/" + skill.MainFile, Name: engageBase,
		Description: display.OneLine(description.Value.Text), MIMEType: markdown, Size: int64(len(text)),
	}
}
