package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/mcpserver/internal/publication"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skillsext"
)

// How long clients may cache an answer. A list may be as old as the catalogue itself, which may lag
// behind a disk without watches. An entry and a file are read from disk at each call and must not
// be cached: a host that sees changed bytes requests the entry again.
var (
	skillsTTL = int(catalog.DefaultInterval.Milliseconds())
	entryTTL  = 0
)

// cacheable returns the cache hints of an answer that is the same for everyone. Shared caches may
// keep the answer unless the server is private: a shared cache would also answer clients without a
// token.
func (s *Server) cacheable(ttl int) mcp.Cacheable {
	scope := "public"
	if s.o.Private {
		scope = "private"
	}
	return mcp.Cacheable{TTLMs: ttl, CacheScope: scope}
}

// A page of skills/list ends after skillsPage entries, or earlier once they name
// filesPage files together (about 1 MiB of JSON). An entry is never split.
const (
	skillsPage = 100
	filesPage  = 6000
	fileWeight = 200 // approximate bytes of a file's entry
)

// listSkills lists every published skill in URI order, including those whose names are shadowed: a
// skill is identified by its URI.
func (s *Server) listSkills(ctx context.Context, x *exchange) (reply, error) {
	v, err := s.completeView(ctx)
	if err != nil {
		return reply{}, err
	}
	served := v.Served()
	i, err := startOf(served, x.params.Cursor)
	if err != nil {
		return reply{}, err
	}
	if err := limit.Reserve(ctx, listMemory); err != nil {
		return reply{}, err
	}
	var page []*skillsext.Skill
	files, unread := 0, 0
	for i < len(served) && len(page) < skillsPage && files < filesPage {
		entries, n, err := publication.Entries(ctx, v, served[i:min(i+skillsPage-len(page), len(served))], s.unpublished)
		if err != nil {
			return reply{}, err
		}
		unread += n
		for _, e := range entries {
			if files >= filesPage {
				break
			}
			i++
			if e != nil {
				page = append(page, e)
				files += len(e.Resources.List())
			}
		}
	}
	next := ""
	if i < len(served) {
		next = cursorAfter(0, served[i-1].URI().String())
	}
	res := listReply("skills", page, next, s.cacheable(skillsTTL), func(e *rawjson.Encoder, item *skillsext.Skill) { e.Append(item.AppendJSON) })
	res.weight = fileWeight * files
	if unread > 0 {
		return markLacking(res, x.params.Cursor == "" && len(page) == 0, fmt.Errorf("%s cannot be read now; try again in a moment", display.Count(unread, "skill")))
	}
	return markIncomplete(v, res, len(page) == 0)
}

// getSkill returns the entry of a published skill, however the client percent-encodes its URI. For
// a served but unpublished skill, the error has the reason.
func (s *Server) getSkill(ctx context.Context, x *exchange) (reply, error) {
	asked := x.params.URI
	if asked == "" {
		return reply{}, invalid("skills/get requires the parameter uri: the URI of a skill's SKILL.md")
	}
	none := func() (reply, error) { return reply{}, invalid("No skill is served at " + display.RedactURI(asked)) }
	at, err := s.lookup(ctx, asked, "/SKILL.md")
	if err != nil {
		return reply{}, err
	}
	e := at.entry
	if e == nil {
		if got := s.engageEntry(at.uri); got != nil {
			return s.skillReply(got), nil
		}
		if why := skippedAt(at.view, at.uri); why != "" {
			return reply{}, notFound(asked, why)
		}
		if at.unsure != nil {
			return reply{}, unsure(at.unsure)
		}
	}
	if e == nil || at.path != skill.MainFile {
		return none()
	}
	if err := limit.Reserve(ctx, skill.FolderMemory); err != nil {
		return reply{}, err
	}
	got, err := publication.Entry(ctx, at.view, e)
	switch {
	case errors.Is(err, skill.ErrTooLarge):
		return reply{}, notFound(asked, "the skill is over the limits of the Skills extension, 512 files and 16 MiB; its files can be read")
	case errors.Is(err, skill.ErrIncomplete):
		return reply{}, notFound(asked, "the skill is not published: "+skill.Reason(err))
	case errors.Is(err, fs.ErrNotExist):
		return none()
	case err != nil:
		return reply{}, s.internal(fmt.Sprintf("cannot read %s: %s", display.Echo(asked), skill.Reason(err)), err)
	case got == nil:
		return reply{}, notFound(asked, "the skill is not published: "+publication.Obstacle(e))
	}
	return s.skillReply(got), nil
}

func (s *Server) skillReply(got *skillsext.Skill) reply {
	hints := s.cacheable(entryTTL)
	return reply{hints: &hints, weight: fileWeight * len(got.Resources.List()), members: func(e *rawjson.Encoder) {
		e.Raw(`"skill":`)
		e.Append(got.AppendJSON)
	}}
}

// unpublished logs the reason why a skill has no entry. It logs each reason once.
func (s *Server) unpublished(e *catalog.Entry, err error) {
	why := skill.Reason(err)
	if _, logged := s.logged.LoadOrStore(e.Place()+"\x00"+why, true); !logged {
		s.o.Log.Warn("skill not published", "at", e.Place(), "reason", why)
	}
}
