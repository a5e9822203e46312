// Package publication makes the entries of skills in the Skills extension (SEP-2640).
package publication

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
	"github.com/knack-dev/knack/skillsext"
)

// possible reports whether a skill's SKILL.md satisfies the specification and its URI ends with its
// name. Only the manifest shows whether its files are within the limits.
func possible(e *catalog.Entry) bool {
	return e.Publishable && e.Status != catalog.Skipped && e.IsNamedByURI()
}

// Obstacle returns the first reason that a served skill has no entry.
func Obstacle(e *catalog.Entry) string {
	for _, p := range e.Problems {
		if skill.RuleOf(p.Rule).Unpublishes {
			return p.Message
		}
	}
	return "its URI does not end with its name"
}

// Entry returns the entry of a skill as it is on disk now, or nil if the skill is not published.
// Its frontmatter and its manifest belong to the same state.
func Entry(ctx context.Context, v catalog.View, e *catalog.Entry) (*skillsext.Skill, error) {
	if !possible(e) {
		return nil, nil
	}
	now, files, err := v.Manifest(ctx, e)
	if err != nil {
		return nil, err
	}
	if !possible(now) || !now.SameURI(e) {
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

// Entries makes the entries of several skills concurrently; the entry of an unpublished skill is
// nil. It calls failed, from several goroutines, for each entry that fails, and counts in unread
// the skills that may have an entry later, because they exist and are within the limits.
func Entries(ctx context.Context, v catalog.View, skills []*catalog.Entry, failed func(*catalog.Entry, error)) (entries []*skillsext.Skill, unread int, err error) {
	out := make([]*skillsext.Skill, len(skills))
	var later atomic.Int64
	limit.Parallel(2*runtime.GOMAXPROCS(0), len(skills), func(i int) { // two workers for each processor, since some wait for the disk
		if ctx.Err() != nil {
			return
		}
		var err error
		if out[i], err = Entry(ctx, v, skills[i]); err != nil && ctx.Err() == nil {
			failed(skills[i], err)
			if !errors.Is(err, skill.ErrTooLarge) && !errors.Is(err, skill.ErrIncomplete) && !errors.Is(err, fs.ErrNotExist) {
				later.Add(1)
			}
		}
	})
	return out, int(later.Load()), ctx.Err()
}

// OfText returns the entry of a one-file skill at a URI.
func OfText(uri string, text []byte) *skillsext.Skill {
	return &skillsext.Skill{
		URI: uri, Frontmatter: skillsext.Frontmatter(frontmatter.Parse(text).JSON()),
		Resources: skillsext.StaticResources(skillsext.Resource{URI: uri, Digest: skill.DigestOf(text).String(), Size: int64(len(text))}),
	}
}
