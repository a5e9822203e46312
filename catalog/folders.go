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
)

// FolderNow is a direct child of a root as the disk has it now.
type FolderNow struct {
	skill.Folder
	Root skill.Root
}

// Knows reports whether the snapshot has a skill in that folder, skipped only for
// what the file is now, or says that nobody may look into it.
func (s *Snapshot) Knows(f FolderNow) bool {
	e := s.placedAt(f.Root.Label, f.Name)
	return e != nil && (e.Status != Skipped || f.Err != nil || e.Stamp == f.Stamp) || f.Err != nil && s.deniedAt(f.Root.Label, f.Name) != nil
}

// FoldersNow asks the disk which folders the roots have as direct children under a
// name that matches, in root order. The roots are asked at once, each by one
// listing of its own folder; one that does not answer while the context lasts, or
// has not answered another caller before, is left out, and then all is false. If a [Sight]
// holds, every folder in which the view has no skill is left out too.
func (v View) FoldersNow(ctx context.Context, match func(name string) bool) (found []FolderNow, all bool) {
	v.catalog.mu.Lock()
	sources := v.catalog.sources
	v.catalog.mu.Unlock()
	of, answered := make([][]skill.Folder, len(sources)), make([]bool, len(sources))
	var wg sync.WaitGroup
	for i, h := range sources {
		f, ok := h.Source.(Folders)
		if answered[i] = !ok; !ok || h.silent.Load() {
			continue
		}
		wg.Go(func() { of[i], answered[i] = h.folders(ctx, f, match) })
	}
	wg.Wait()
	for i, h := range sources {
		root := h.Root()
		for _, f := range of[i] {
			if v.sight != nil && v.placedAt(root.Label, f.Name) == nil {
				continue // it may hold what is out of sight
			}
			found = append(found, FolderNow{f, root})
		}
	}
	return found, !slices.Contains(answered, false)
}

// folders asks one source, and reports whether it has answered. A caller that it keeps
// waiting notes that for the others.
func (h *held) folders(ctx context.Context, f Folders, match func(string) bool) ([]skill.Folder, bool) {
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

// Denied is a folder that may not be looked into, so that nobody can tell whether
// it holds a skill.
type Denied struct {
	Root skill.Root
	skill.Notice
}

// Place is where the folder lies, as people write it.
func (d *Denied) Place() string {
	return (&Entry{Skill: &skill.Skill{Bundle: &skill.Bundle{Path: d.Path}}, Root: &d.Root}).Place()
}

// Denied finds a folder that may not be looked into, by its base name: a direct
// child of a root before one at any depth. A folder within a skill is none.
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

// deniedAt is why nobody can look into a folder, or into one around it; nil where
// that is not so.
func (s *Snapshot) deniedAt(label, at string) *skill.Notice {
	for _, r := range s.Roots {
		if r.Label != label {
			continue
		}
		for i, n := range r.Notices {
			if errors.Is(n.Err, fs.ErrPermission) && (at == n.Path || skill.IsBelow(at, n.Path)) {
				return &r.Notices[i]
			}
		}
	}
	return nil
}

// Blocked is the skill that last had a URI, where it is still in its place and
// cannot be read for the moment: its file or its folder is denied, the disk fails,
// or what stands there is no text of a size that is read. A skill that is gone, is
// none by now, or leads outside is not blocked.
func (s *Snapshot) Blocked(uri skill.URI) *Entry { return s.blocked[uri.Path()] }

// BlockedNamed is the first blocked skill, in the order of URIs, that had a name.
func (s *Snapshot) BlockedNamed(name string) *Entry {
	var first *Entry
	for _, e := range s.blocked {
		if e.Key == skill.KeyOf(name) && (first == nil || e.URI().Path() < first.URI().Path()) {
			first = e
		}
	}
	return first
}

// keepBlocked takes over from the snapshot before what was served then and is
// blocked now.
func (s *Snapshot) keepBlocked(prev *Snapshot) {
	keep := func(uri string, e *Entry) {
		if s.byBase.find(e.base()) != nil || !s.isBlocked(e) {
			return
		}
		if s.blocked == nil {
			s.blocked = map[string]*Entry{}
		}
		one := *e // without the snapshot that it was made with
		one.By = nil
		s.blocked[uri] = &one
	}
	for uri, e := range prev.blocked {
		keep(uri, e)
	}
	for i, e := range prev.Entries {
		pause(i)
		if now := s.at(e); e.Status != Skipped && (now == nil || now.Status == Skipped) {
			keep(e.URI().Path(), e)
		}
	}
}

func (s *Snapshot) isBlocked(e *Entry) bool {
	now := s.at(e)
	if now == nil {
		return s.deniedAt(e.Root.Label, e.Path) != nil
	}
	p, _ := now.SkipReason()
	switch p.Rule {
	case skill.RuleFilePermission, skill.RuleFileUnreadable, skill.RuleFileUnstable,
		skill.RuleFileNotRegular, skill.RuleFileEncoding, skill.RuleFileTooLarge:
		return now.Status == Skipped
	}
	return false
}
