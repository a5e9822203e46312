package dir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/knack-dev/knack/skill"
)

const (
	// maxDepth is how many levels below the root are searched: twice the bound
	// that loses 1.9 % of 145,005 skills in 91 public repositories.
	maxDepth = 12
	// maxNotices bounds what one scan reports, so that a hostile tree cannot fill
	// the memory with complaints.
	maxNotices = 1000
)

// maxFolders bounds one scan: ten times the largest tree it is made for. A
// variable for the tests.
var maxFolders = 1_000_000

// The rules of the notices that a scan gives.
const (
	RuleUnreadable    = skill.RuleID("folder-unreadable")
	RuleDepthLimit    = skill.RuleID("depth-limit")
	RuleFolderLimit   = skill.RuleID("folder-limit")
	RuleNoticesCut    = skill.RuleID("notices-cut")
	RuleNameNotUTF8   = skill.RuleID("folder-name-not-utf8")
	RuleLinkOutside   = skill.RuleID("link-outside")
	RuleLinkDuplicate = skill.RuleID("link-duplicate")
	RuleLinkDangling  = skill.RuleID("link-dangling")
	RuleLinkLoop      = skill.RuleID("link-loop")
	RuleLinkIgnored   = skill.RuleID("link-ignored")
)

// A place is a folder to visit.
type place struct {
	path   string // as the user sees it, below the root
	real   string // its real absolute path
	bound  string // real path that links from here must stay below
	linked bool   // reached through a link below the root
	folder *folder
	skill  *place // the innermost skill it lies in, maybe itself
}

// walk is one scan. It goes level by level, so that of two ways to one real
// folder the shorter is met first; on one level folders come before links, then
// path order decides. Each real folder is visited once, which ends every loop.
type walk struct {
	source  *Source
	top     handle // the root, open during the scan
	real    string // the root's real path
	seen    map[string]string
	folders []string
	scan    skill.Scan
	dropped int // notices beyond maxNotices
}

// found is what one visit yields.
type found struct {
	bundle  *skill.Bundle
	folders []place
	notices []skill.Notice
	err     error
}

func (w *walk) run(ctx context.Context) (skill.Scan, error) {
	w.seen = map[string]string{w.real: "."}
	s := w.source
	level := []place{{
		path: ".", real: w.real, bound: w.real,
		folder: &folder{door: s.door, base: s.opt.Root.Dir, alias: w.real, sub: "."},
	}}
	for depth := 0; len(level) > 0; depth++ {
		results := w.visitAll(ctx, level)
		if err := ctx.Err(); err != nil {
			return skill.Scan{}, err
		}
		if depth == 0 && results[0].err != nil {
			return skill.Scan{}, results[0].err
		}
		for _, p := range level {
			w.folders = append(w.folders, p.real)
		}
		level = w.next(level, results, depth)
	}
	slices.SortFunc(w.scan.Bundles, func(a, b skill.Bundle) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortStableFunc(w.scan.Notices, func(a, b skill.Notice) int { return cmp.Compare(a.Path, b.Path) })
	if w.dropped > 0 {
		w.scan.Notices = append(w.scan.Notices, skill.Notice{Path: ".", Rule: RuleNoticesCut,
			Message: fmt.Sprintf("%d further notices are left out", w.dropped)})
	}
	return w.scan, nil
}

// next gathers one level's results and decides what the next level visits.
func (w *walk) next(level []place, results []found, depth int) []place {
	folders := 0
	for _, r := range results {
		folders += len(r.folders)
	}
	next := make([]place, 0, folders)
	for i, r := range results {
		if r.bundle != nil {
			w.scan.Bundles = append(w.scan.Bundles, *r.bundle)
		}
		w.notice(r.notices...)
		if depth == maxDepth && len(r.folders) > 0 {
			w.notice(skill.Notice{Path: level[i].path, Rule: RuleDepthLimit,
				Message: fmt.Sprintf("folders more than %d levels below the root are not searched", maxDepth),
				Mend:    "move the skills further up, or give this folder as a root"})
			continue
		}
		next = append(next, r.folders...)
	}
	slices.SortFunc(next, func(a, b place) int {
		if a.linked != b.linked {
			return map[bool]int{false: -1, true: 1}[a.linked]
		}
		return cmp.Compare(a.path, b.path)
	})
	next = slices.DeleteFunc(next, func(p place) bool { return !w.claim(p) })
	if room := max(maxFolders-len(w.folders), 0); len(next) > room {
		w.notice(skill.Notice{Path: ".", Rule: RuleFolderLimit,
			Message: fmt.Sprintf("only the first %d folders are searched", maxFolders),
			Mend:    "give the folders that hold skills as roots"})
		next = next[:room]
	}
	return next
}

// claim takes a real folder for the path that came to it first.
func (w *walk) claim(p place) bool {
	first, taken := w.seen[p.real]
	if taken {
		w.notice(skill.Notice{Path: p.path, Rule: RuleLinkDuplicate,
			Message: fmt.Sprintf("is the same folder as %q, which is the one that is served", first)})
		return false
	}
	w.seen[p.real] = p.path
	return true
}

func (w *walk) notice(ns ...skill.Notice) {
	for _, n := range ns {
		if len(w.scan.Notices) < maxNotices {
			w.scan.Notices = append(w.scan.Notices, n)
		} else {
			w.dropped++
		}
	}
}

// visitAll visits one level's folders, in parallel. Two workers for each
// processor keep it busy while others wait for the disk, and bound the
// descriptors.
func (w *walk) visitAll(ctx context.Context, level []place) []found {
	out := make([]found, len(level))
	var at atomic.Int64
	work := func() {
		for ctx.Err() == nil {
			i := int(at.Add(1)) - 1
			if i >= len(level) {
				return
			}
			out[i] = w.visit(level[i])
		}
	}
	var wg sync.WaitGroup
	for range min(2*runtime.GOMAXPROCS(0), len(level)) {
		wg.Go(work)
	}
	wg.Wait()
	return out
}

// visit reads one folder.
func (w *walk) visit(p place) (out found) {
	top, sub := w.top, p.folder.sub
	if p.linked {
		h, err := p.folder.enter()
		if err != nil {
			return unreadable(p, err)
		}
		defer h.close()
		top, sub = h, "."
	}
	h, raw, err := top.list(sub)
	if h != nil {
		defer h.close()
	}
	if err != nil {
		out = unreadable(p, err)
	}
	raw = slices.DeleteFunc(raw, dull)
	slices.SortFunc(raw, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	if spellings := spellings(raw); len(spellings) > 0 {
		b := w.source.bundle(p, h, spellings)
		out.bundle = &b
		p.skill = &p
	}
	for _, e := range raw {
		switch {
		case e.IsDir():
			w.child(&out, p, e.Name())
		case !isEntry(e.Name()):
			w.link(&out, p, e.Name())
		}
	}
	return out
}

func (w *walk) child(out *found, p place, name string) {
	if !utf8.ValidString(name) {
		out.notices = append(out.notices, skill.Notice{Path: p.path, Rule: RuleNameNotUTF8,
			Message: fmt.Sprintf("the folder %q is not searched: its name is not valid UTF-8", name),
			Mend:    "rename the folder"})
		return
	}
	c := p
	// A listed name is one part, and nothing in it is to be cleaned.
	c.path = name
	if p.path != "." {
		c.path = p.path + "/" + name
	}
	separator := string(filepath.Separator)
	c.real = strings.TrimSuffix(p.real, separator) + separator + name
	f := *p.folder
	if p.linked {
		f.base = c.real
		f.alias += separator + name
	} else {
		f.sub = c.path
	}
	c.folder = &f
	out.folders = append(out.folders, c)
}

// dull reports whether a scan has no use for an entry. The rest are folders,
// links and spellings of SKILL.md.
func dull(e fs.DirEntry) bool {
	if e.Name() == ".git" || e.Name() == "node_modules" {
		return true
	}
	return !e.IsDir() && e.Type()&fs.ModeSymlink == 0 && !isEntry(e.Name())
}

// unreadable reports a folder that could not be opened; one that has vanished
// since its parent was read is not worth a word.
func unreadable(p place, err error) found {
	out := found{err: bare(err)}
	if errors.Is(out.err, fs.ErrNotExist) || errors.Is(err, errThroughLink) || errors.Is(err, skill.ErrOutside) {
		return out
	}
	out.notices = []skill.Notice{{Path: p.path, Rule: RuleUnreadable,
		Message: "the folder cannot be read: " + out.err.Error(),
		Mend:    "give yourself permission to read it, or move it out of the root", Err: out.err}}
	return out
}

func spellings(raw []fs.DirEntry) []string {
	var out []string
	for _, e := range raw {
		if isEntry(e.Name()) {
			out = append(out, e.Name())
		}
	}
	return out
}

// isEntry reports whether name spells SKILL.md in some case. ASCII only: a
// Unicode fold would take the Kelvin sign for a K.
func isEntry(name string) bool {
	return len(name) == len("SKILL.md") && strings.EqualFold(name, "SKILL.md")
}
