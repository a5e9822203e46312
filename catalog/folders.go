package catalog

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// FolderNow is a direct child folder of a root, as it is on disk now.
type FolderNow struct {
	skill.Folder
	Root skill.Root
}

// UpToDate reports whether the snapshot needs no refresh for a folder. It needs none if it has a
// skill there that is served, or that was skipped in the file's present state. It also needs none
// if it has a notice that the folder is denied.
func (s *Snapshot) UpToDate(f FolderNow) bool {
	e := s.placedAt(f.Root.Label, f.Name)
	return e != nil && (e.Status != Skipped || f.Err != nil || e.Stamp == f.Stamp) || f.Err != nil && s.deniedAt(f.Root.Label, f.Name) != nil
}

// FoldersNow lists from disk the direct child folders of the roots whose names match, in root
// order. It reads all roots at the same time, each by one listing of its folder. If a root does not
// answer before the context ends, or has not yet answered another caller, the root is left out, and
// all is false. If the view has a [Filter], every folder in which the view has no skill is left out
// too.
func (v View) FoldersNow(ctx context.Context, match func(name string) bool) (found []FolderNow, all bool) {
	v.catalog.mu.Lock()
	sources := v.catalog.sources
	v.catalog.mu.Unlock()
	folders, answered := make([][]skill.Folder, len(sources)), make([]bool, len(sources))
	var wg sync.WaitGroup
	for i, h := range sources {
		f, ok := h.Source.(Folders)
		if answered[i] = !ok; !ok || h.silent.Load() {
			continue
		}
		wg.Go(func() { folders[i], answered[i] = h.folders(ctx, f, match) })
	}
	wg.Wait()
	for i, h := range sources {
		root := h.Root()
		for _, f := range folders[i] {
			if v.filter != nil && v.placedAt(root.Label, f.Name) == nil {
				continue // the folder may contain a hidden skill
			}
			found = append(found, FolderNow{f, root})
		}
	}
	return found, !slices.Contains(answered, false)
}

// folders lists the folders of one source, and reports whether the source has answered. If the
// source does not answer in time, folders marks it as silent for other callers.
func (h *sourceState) folders(ctx context.Context, f Folders, match func(string) bool) ([]skill.Folder, bool) {
	done := make(chan []skill.Folder, 1)
	go func() {
		defer h.silent.Store(false)
		done <- f.Folders(match)
	}()
	select {
	case all := <-done:
		return all, true
	case <-ctx.Done():
		h.silent.Store(true)
		select {
		case all := <-done: // it has just answered
			h.silent.Store(false)
			return all, true
		default:
		}
		return nil, false
	}
}

// Denied is a folder that knack may not read. It may contain a skill.
type Denied struct {
	Root skill.Root
	skill.Notice
}

// Place returns the location of the folder, as people write it.
func (d *Denied) Place() string {
	return (&Entry{Skill: &skill.Skill{Bundle: &skill.Bundle{Path: d.Path}}, Root: &d.Root}).Place()
}

// Denied finds a folder that knack may not read, by its base name. It prefers a direct
// child of a root to one at any depth, and ignores folders within a skill.
func (s *Snapshot) Denied(match func(folder string) bool) *Denied {
	var deep *Denied
	for _, r := range s.Roots {
		for _, n := range r.Notices {
			switch {
			case !errors.Is(n.Err, fs.ErrPermission) || !match(path.Base(n.Path)) || s.inSkill(r.Label, n.Path):
			case !strings.Contains(n.Path, "/"):
				return &Denied{r.Root, n}
			case deep == nil:
				deep = &Denied{r.Root, n}
			}
		}
	}
	return deep
}

func (s *Snapshot) inSkill(label, at string) bool {
	for at != "." {
		if at = parent(at); s.placedAt(label, at) != nil {
			return true
		}
	}
	return false
}

// deniedAt returns the notice that a folder, or one around it, cannot be read. It
// returns nil if there is no such notice.
func (s *Snapshot) deniedAt(label, at string) *skill.Notice {
	for _, r := range s.Roots {
		if r.Label != label {
			continue
		}
		for i, n := range r.Notices {
			if errors.Is(n.Err, fs.ErrPermission) && (n.Path == "." || strings.HasPrefix(at+"/", n.Path+"/")) {
				return &r.Notices[i]
			}
		}
	}
	return nil
}

// Blocked returns the skill that last had a URI, if the skill is still in its place and cannot be
// read at the moment. Its file or folder may be denied, or the disk fails. The file may be
// irregular, not text or too large. Or the skill differs from its lock. A skill that is gone, is no
// longer a skill, or leads outside is not blocked.
func (s *Snapshot) Blocked(uri skill.URI) *Entry { return s.blocked[uri.Path()] }

// BlockedNamed returns the first blocked skill that had the name, in the order of URIs.
func (s *Snapshot) BlockedNamed(name string) *Entry {
	var first *Entry
	for _, e := range s.blocked {
		if e.Key == skill.KeyOf(name) && (first == nil || e.URI().Path() < first.URI().Path()) {
			first = e
		}
	}
	return first
}

// keepBlocked copies from the previous snapshot the skills that were served then and are blocked
// now.
func (s *Snapshot) keepBlocked(prev *Snapshot) {
	keep := func(uri string, e *Entry) {
		if s.based(e.Base()) != nil || !s.isBlocked(e) {
			return
		}
		if s.blocked == nil {
			s.blocked = map[string]*Entry{}
		}
		one := *e // a copy that does not keep its old snapshot alive
		one.By = nil
		s.blocked[uri] = &one
	}
	for uri, e := range prev.blocked {
		keep(uri, e)
	}
	for i, e := range prev.Entries {
		pause(i)
		if now := s.samePlace(e); e.Status != Skipped && (now == nil || now.Status == Skipped) {
			keep(e.URI().Path(), e)
		}
	}
}

func (s *Snapshot) isBlocked(e *Entry) bool {
	now := s.samePlace(e)
	if now == nil {
		return s.deniedAt(e.Root.Label, e.Path) != nil
	}
	p, _ := now.SkipReason()
	switch p.Rule {
	case frontmatter.FilePermission, frontmatter.FileUnreadable, frontmatter.FileUnstable,
		frontmatter.FileNotRegular, frontmatter.FileEncoding, frontmatter.FileTooLarge, frontmatter.FileLocked, frontmatter.StoreDamaged, frontmatter.StoreRefused:
		return now.Status == Skipped
	}
	return false
}
