package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/internal/rawjson"
	"github.com/knack-dev/knack/limit"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skillsext"
)

// How long an answer may be kept. A list may be kept as long as the catalogue itself may be
// behind a disk without watches. An entry or a file is read from the disk at each call and
// may change after it: a host that finds other bytes asks again, and must then not be given
// its own old copy.
var (
	skillsTTL = int(catalog.DefaultInterval.Milliseconds())
	entryTTL  = 0
)

// cacheable are the hints of an answer that is the same for everyone. It may be shared
// between users if anyone may ask; if a token is needed, a shared cache would give it to
// clients without one.
func (s *Server) cacheable(ttl int) mcp.Cacheable {
	scope := "public"
	if s.private {
		scope = "private"
	}
	return mcp.Cacheable{TTLMs: ttl, CacheScope: scope}
}

// A page of skills/list ends after skillsPage entries, or earlier once they name
// filesPage files together (about 1 MiB of JSON). An entry is never split.
const (
	skillsPage = 100
	filesPage  = 6000
)

// publishable: SKILL.md satisfies the specification, and the URI ends with the
// skill's name. Whether its files fit is known only from its manifest.
func publishable(e *catalog.Entry) bool {
	return e.Publishable && e.Status != catalog.Skipped && path.Base(e.Base()) == e.Name
}

// listSkills lists every published skill in the order of the URIs' text, those
// that a name shadows included: a skill is identified by its URI.
func (s *Server) listSkills(ctx context.Context, r *request) (reply, error) {
	v, err := s.whole(ctx)
	if err != nil {
		return reply{}, err
	}
	served := v.Served()
	i, err := startOf(served, r.params.Cursor)
	if err != nil {
		return reply{}, err
	}
	if err := limit.Reserve(ctx, listRoom); err != nil {
		return reply{}, err
	}
	var page []*skillsext.Skill
	files := 0
	for i < len(served) && len(page) < skillsPage && files < filesPage {
		entries, err := s.entriesNow(ctx, v, served[i:min(i+skillsPage-len(page), len(served))])
		if err != nil {
			return reply{}, err
		}
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
		next = cursorAfter(toldVersion(v), served[i-1].URI().String())
	}
	res := listed("skills", page, next, s.cacheable(skillsTTL), func(e *rawjson.Encoder, of *skillsext.Skill) { e.Append(of.AppendJSON) })
	res.weight = 200 * files // about what the entry of a file takes
	return partly(v, res, len(page) == 0)
}

// entriesNow makes the entries of several skills at once; nil for one that is not
// published.
func (s *Server) entriesNow(ctx context.Context, v catalog.View, of []*catalog.Entry) ([]*skillsext.Skill, error) {
	out := make([]*skillsext.Skill, len(of))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(2*runtime.GOMAXPROCS(0), len(of)) { // some wait for the disk
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(of) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				var err error
				if out[i], err = s.entryNow(ctx, v, of[i]); err != nil && ctx.Err() == nil {
					// One skill that cannot be read must not take the others with it.
					s.unpublished(of[i], skill.Reason(err))
				}
			}
		})
	}
	wg.Wait()
	return out, ctx.Err()
}

// entryNow is the entry of a published skill as it is on disk now. It is nil, with the
// reason, if the skill is not published. Frontmatter and manifest are of one state.
func (s *Server) entryNow(ctx context.Context, v catalog.View, e *catalog.Entry) (*skillsext.Skill, error) {
	if !publishable(e) {
		return nil, nil
	}
	now, files, err := v.Manifest(ctx, e)
	if err != nil {
		return nil, err
	}
	if !publishable(now) || !now.SameURI(e) {
		return nil, nil
	}
	list := make([]skillsext.Resource, len(files))
	for i, f := range files {
		uri, err := now.FileText(f.Path)
		if err != nil {
			return nil, err
		}
		list[i] = skillsext.Resource{URI: uri, Digest: f.Digest.String(), Size: f.Size}
	}
	slices.SortFunc(list, func(a, b skillsext.Resource) int { return cmp.Compare(a.URI, b.URI) })
	return &skillsext.Skill{
		URI: now.URI().String(), Frontmatter: skillsext.Frontmatter(now.Frontmatter), Resources: skillsext.StaticResources(list...),
	}, nil
}

// getSkill answers for every published skill, in whichever way the client
// percent-encodes its URI. For one that is served and not published it says why.
func (s *Server) getSkill(ctx context.Context, r *request) (reply, error) {
	asked := r.params.URI
	if asked == "" {
		return reply{}, invalid("skills/get wants the parameter uri: the URI of a skill's SKILL.md")
	}
	none := func() (reply, error) { return reply{}, invalid("No skill is served at " + display.RedactURI(asked)) }
	v, err := s.view(ctx)
	if err != nil {
		return reply{}, err
	}
	uri, err := skill.ParseURI(asked)
	if err != nil {
		return reply{}, notFound(asked, malformedURI(asked, "/SKILL.md"))
	}
	v, e, file, notSure := s.host.At(ctx, v, uri)
	if e == nil {
		if got := s.unlisted(uri); got != nil {
			return s.skillReply(got), nil
		}
		if why := skippedAt(v, uri); why != "" {
			return reply{}, notFound(asked, why)
		}
		if notSure != nil {
			return reply{}, unsure(notSure)
		}
	}
	if e == nil || file != skill.MainFile {
		return none()
	}
	got, err := s.entryNow(ctx, v, e)
	switch {
	case ctx.Err() != nil:
		return reply{}, ctx.Err()
	case errors.Is(err, skill.ErrTooLarge):
		return reply{}, notFound(asked, "the skill is over the limits of the Skills extension, 512 files and 16 MiB; its files can be read")
	case errors.Is(err, skill.ErrIncomplete):
		return reply{}, notFound(asked, "the skill is not published: "+skill.Reason(err))
	case errors.Is(err, fs.ErrNotExist):
		return none()
	case err != nil:
		return reply{}, s.internal(fmt.Sprintf("cannot read %s: %s", display.Echo(asked), skill.Reason(err)), err)
	case got == nil:
		return reply{}, notFound(asked, "the skill is not published: "+whyNot(e))
	}
	return s.skillReply(got), nil
}

func (s *Server) skillReply(got *skillsext.Skill) reply {
	hints := s.cacheable(entryTTL)
	return reply{hints: &hints, members: func(e *rawjson.Encoder) {
		e.Raw(`"skill":`)
		e.Append(got.AppendJSON)
	}}
}

// whyNot is the first reason that keeps a served skill from being published.
func whyNot(e *catalog.Entry) string {
	for _, p := range e.Problems {
		if skill.RuleOf(p.Rule).Unpublishes {
			return p.Message
		}
	}
	return "its URI does not end with its name"
}

// unpublished tells the operator, once for each skill and reason.
func (s *Server) unpublished(e *catalog.Entry, why string) {
	if _, told := s.told.LoadOrStore(e.Place()+"\x00"+why, true); !told {
		s.log.Warn("skill not published", "at", e.Place(), "reason", why)
	}
}
