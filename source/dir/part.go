package dir

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/knack-dev/knack/skill"
)

// part lets a walk go only where something has changed. A folder that has the stamp
// that it had holds the entries that it held, so that what a visit would find is
// known; the walk goes on from it as it would from a visit. It serves one worker,
// which takes each level in its order, so that what is known lies ahead of it.
//
// It is for plain trees: without links, and where each notice is a single folder's,
// which is visited then.
type part struct {
	walk    *walk
	known   *last
	top     lookHandle
	visited map[string]bool // folders to be visited whatever their stamp is

	level         int
	at, next      int // in the known folders of this level, and of the next
	atEnd, behind int // where those end
	bundle        int // in the known bundles
}

// partOf is nil where all is to be visited.
func (w *walk) partOf(l *last, top lookHandle) *part {
	if !l.good(w.real) || len(l.links)+len(l.bases) > 0 {
		return nil
	}
	p := &part{walk: w, known: l, top: top, visited: map[string]bool{}}
	for _, n := range l.scan.Notices {
		if n.Rule == RuleFolderLimit || n.Rule == RuleNoticesCut {
			return nil
		}
		p.visited[n.Path] = true
	}
	for _, i := range l.special {
		p.visited[l.scan.Bundles[i].Path] = true
	}
	return p
}

// enter goes to a level.
func (p *part) enter(level int) {
	p.level, p.bundle = level, 0
	p.at, p.atEnd = p.known.levelAt(level)
	p.next, p.behind = p.known.levelAt(level + 1)
}

// levelAt is where the folders of a level begin and end.
func (l *last) levelAt(level int) (from, to int) {
	if level > 0 {
		from = l.levels[min(level, len(l.levels))-1]
	}
	return from, l.levels[min(level, len(l.levels)-1)]
}

// find is what the last scan knew of a folder, and the skill that it was.
func (p *part) find(path string) (*visited, *skill.Bundle) {
	for p.at < p.atEnd && p.known.folders[p.at].sub < path {
		p.at++
	}
	bundles := p.known.scan.Bundles
	for p.bundle < len(bundles) && bundles[p.bundle].Path < path {
		p.bundle++
	}
	var f *visited
	var b *skill.Bundle
	if p.at < p.atEnd && p.known.folders[p.at].sub == path {
		f = &p.known.folders[p.at]
	}
	if p.bundle < len(bundles) && bundles[p.bundle].Path == path {
		b = bundles[p.bundle]
	}
	return f, b
}

// visit is what a visit of the folder would find, by a look where that will do.
func (p *part) visit(at *place, r *reader) found {
	was, b := p.find(at.path)
	if was != nil && !at.linked && !at.anew && !p.visited[at.path] {
		if out, ok := p.look(at, was, b); ok {
			return out
		}
	}
	out := p.walk.visit(at, r)
	// What lies in a skill is judged otherwise than what lies in none.
	anew := at.anew || (out.bundle != nil) != (b != nil)
	for _, f := range out.folders {
		f.anew = anew
	}
	return out
}

func (p *part) look(at *place, was *visited, b *skill.Bundle) (out found, ok bool) {
	stamp, err := p.top.look(at.sub)
	if err != nil || !was.is(stamp) {
		return out, false
	}
	if b != nil && b.Entry != "" {
		if now, err := p.top.look(entryOf(b)); err != nil || now != b.Stamp {
			return out, false
		}
	}
	at.sum, at.sure = was.sum, stamp.Dev == p.walk.dev && !stamp.Racy(p.walk.begun)
	at.path, at.sub = was.sub, was.sub
	if out.bundle = b; b != nil {
		at.skill = at
	}
	from, to := p.below(at.path)
	made := make([]place, to-from)
	for i := range made {
		sub := p.known.folders[from+i].sub
		made[i] = place{path: sub, sub: sub, origin: at.origin, skill: at.skill}
		out.folders = append(out.folders, &made[i])
	}
	return out, true
}

// below is where the folders in a folder are, among those of the next level: side by
// side, since all their paths begin with its own.
func (p *part) below(path string) (from, to int) {
	if path == "." {
		return p.next, p.behind
	}
	folders := p.known.folders
	order := func(sub string) int { // 0: below path
		if len(sub) <= len(path) {
			return cmp.Or(strings.Compare(sub, path), -1)
		}
		return cmp.Or(strings.Compare(sub[:len(path)], path), cmp.Compare(sub[len(path)], '/'))
	}
	// Nearly always they are the next ones, or there are none; "a-b/c" lies before "a/c",
	// and "a" before "a-b".
	i := p.next
	if before, _ := p.known.levelAt(p.level + 1); i < p.behind && order(folders[i].sub) < 0 || i > before && order(folders[i-1].sub) >= 0 {
		n, _ := slices.BinarySearchFunc(folders[before:p.behind], 0, func(f visited, _ int) int { return order(f.sub) })
		i = before + n
	}
	from = i
	for i < p.behind && order(folders[i].sub) == 0 {
		i++
	}
	p.next = i
	return from, i
}

// trustedFrom is since when the stamps are believed.
func (w *walk) trustedFrom() time.Time {
	if w.part != nil {
		return w.part.known.begun
	}
	return w.begun
}
