package dir

import (
	"context"
	"hash/maphash"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/skill"
)

// A scan of a tree in which nothing has changed finds what the last one found. To
// know that it need not read a single folder: a folder's time stamps change with
// its entries, so that a look at every folder and every entry is enough, one call
// of the system each. Where time stamps prove nothing, the tree is scanned anew: on
// file systems that are not known to keep them, where a folder could not be read, and
// where the stamp of a folder is another, or so young that a later change could have
// left it as it is. Where those of SKILL.md files alone are others, the rest of what
// was found stays: see [Source.again].

// versions tells the states of trees apart, of all sources of a process: one may
// stand in for another on the same root.
var versions atomic.Uint64

// lookLinks bounds the links that are asked about again one by one.
const lookLinks = 1000

// trusted is how long time stamps are believed before the tree is scanned anyway.
const trusted = 10 * time.Minute

// stampSeed makes the sums of stamps, which are kept in place of the stamps: of
// two hundred thousand folders those would weigh 8 MB.
var stampSeed = maphash.MakeSeed()

func sumOf(s skill.Stamp) uint64 { return maphash.Comparable(stampSeed, s) }

// visited is one folder that the last scan visited: there are many.
type visited struct {
	sub string // as in place, below the root where bases has nothing else
	sum uint64 // or unsure
}

// unsure is no folder's sum: its stamp does not tell whether its entries change.
const unsure = 0

// is reports whether a folder's stamp proves that it has the entries that it had.
func (v *visited) is(stamp skill.Stamp) bool { return v.sum != unsure && sumOf(stamp) == v.sum }

// last is what a scan leaves for the next one.
type last struct {
	real    string // of the root
	begun   time.Time
	folders []visited
	bases   map[int]string // of the folders that a link led to, by their place in folders
	links   []metLink
	special []int // bundles whose entry is no regular file, or has a fault
	scan    skill.Scan
	// sure: the stamps prove that nothing has changed, but for the folders that are unsure.
	sure bool
}

// realOf is the real absolute path of a folder.
func (l *last) realOf(i int) string {
	base, ok := l.bases[i]
	if !ok {
		base = l.real
	}
	p := place{sub: l.folders[i].sub, origin: &origin{base: base}}
	return p.real()
}

// metLink is a link that a scan met, and what became of it.
type metLink struct {
	in   place
	name string
	out  found
}

// meet decides what becomes of a link, and notes it for the next scan.
func (w *walk) meet(out *found, p *place, name string, skill *opened) {
	var one found
	w.link(&one, p, name, skill)
	if len(out.links) <= lookLinks {
		in := *p
		if in.skill != nil { // by itself: where it lies are all that lie beside it
			in.skill = &place{path: in.skill.path, sub: in.skill.sub, origin: in.skill.origin}
		}
		noted := found{notices: one.notices}
		for _, f := range one.folders {
			c := *f // which the visit will know more of
			c.skill = in.skill
			noted.folders = append(noted.folders, &c)
		}
		out.links = append(out.links, metLink{in, name, noted})
	}
	out.folders = append(out.folders, one.folders...)
	out.notices = append(out.notices, one.notices...)
}

// lookHandle is a handle that looks at names quickly: a link on the way may be
// followed, so that what it says is good for nothing but a comparison with a
// stamp that is known.
type lookHandle interface {
	handle
	// keepsTimes: the folder is on a file system that is known to change a folder's
	// stamp with its entries.
	keepsTimes() bool
	look(name string) (skill.Stamp, error)
}

// again is what a scan would leave now, where the stamps prove that no folder and no
// link has changed: what the last one left, or that with the new stamps of the files
// that are others. It is nil where that is not known.
func (s *Source) again(ctx context.Context, l *last, top handle, real string) *last {
	h, ok := top.(lookHandle)
	if !ok || !l.good(real) {
		return nil
	}
	changed := map[int]skill.Stamp{}
	for i := range l.folders {
		if !pause(ctx, i) {
			return nil
		}
		f := &l.folders[i]
		name := f.sub
		if _, linked := l.bases[i]; linked {
			name = l.realOf(i)
		}
		if stamp, err := h.look(name); err != nil || !f.is(stamp) {
			return nil
		}
	}
	for i, b := range l.scan.Bundles {
		if !pause(ctx, i) {
			return nil
		}
		if b.Entry == "" {
			continue
		}
		if _, special := slices.BinarySearch(l.special, i); special {
			if !sameEntry(b) {
				return nil
			}
			continue
		}
		if stamp, err := h.look(entryOf(b)); err != nil {
			return nil
		} else if stamp != b.Stamp {
			now, fault := examined(b)
			if fault != nil || now.Dev != b.Stamp.Dev {
				return nil
			}
			changed[i] = now
		}
	}
	w := &walk{source: s, real: real, ground: s.groundOf(real)}
	for i := range l.links {
		var now found
		in := l.links[i].in
		w.link(&now, &in, l.links[i].name, nil)
		if !reflect.DeepEqual(now, l.links[i].out) {
			return nil
		}
	}
	if len(changed) == 0 {
		return l
	}
	next := *l // trusted no longer than it was
	next.scan.Version = versions.Add(1)
	next.scan.Bundles = slices.Clone(l.scan.Bundles)
	for i, stamp := range changed {
		next.scan.Bundles[i] = stampedAgain(next.scan.Bundles[i], stamp)
	}
	return &next
}

// good: the stamps of what the last scan of the root left can be believed.
func (l *last) good(real string) bool {
	return l != nil && l.sure && l.real == real && time.Since(l.begun) <= trusted
}

// pause lets others have the processor now and then: the calls of the system are too
// short for the scheduler to take it away, and whoever is to answer would wait for
// the end of a time slice, 10 ms. It reports whether to go on.
func pause(ctx context.Context, i int) bool {
	if i%32 != 0 {
		return true
	}
	runtime.Gosched()
	return ctx.Err() == nil
}

// entryOf is how a bundle's entry is called below the root, or absolutely.
func entryOf(b *skill.Bundle) string {
	switch {
	case b.Link() != "":
		return b.FS.(*folder).base + "/" + b.Entry
	case b.Path == ".":
		return b.Entry
	}
	return b.Path + "/" + b.Entry
}

// sameEntry examines an entry again that no stamp of its own describes.
func sameEntry(b *skill.Bundle) bool {
	stamp, fault := examined(b)
	return stamp == b.Stamp && (fault == nil) == (b.Fault() == nil) && (fault == nil || fault.Error() == b.Fault().Error())
}

// stampedAgain is a bundle with another stamp.
func stampedAgain(b *skill.Bundle, stamp skill.Stamp) *skill.Bundle {
	now := &bundled{*b, *b.FS.(*folder)}
	now.FS, now.Stamp = &now.folder, stamp
	return &now.Bundle
}

// examined examines an entry again.
func examined(b *skill.Bundle) (skill.Stamp, error) {
	f := b.FS.(*folder)
	h, err := f.enter()
	if err != nil {
		return skill.Stamp{}, err
	}
	defer h.close()
	return examine(h, b.Entry, f)
}

// leave makes what the scan leaves for the next one.
func (w *walk) leave(scan skill.Scan) *last {
	scan.Skills = nil // they are the caller's
	l := &last{real: w.real, begun: w.begun, scan: scan, folders: make([]visited, len(w.folders)), bases: map[int]string{}, links: w.links, sure: w.sure}
	for i, p := range w.folders {
		l.folders[i] = visited{p.sub, p.sum}
		if !p.sure {
			l.folders[i].sum = unsure
		}
		if p.base != w.real {
			l.bases[i] = p.base
		}
	}
	for i, b := range scan.Bundles {
		if b.Entry != "" && (b.Fault() != nil || w.special[b.Path]) {
			l.special = append(l.special, i)
		}
	}
	l.sure = l.sure && len(l.links) <= lookLinks && len(l.special) <= lookLinks
	return l
}

// at is the absolute path of an entry.
func (f *folder) at(name string) string {
	switch {
	case f.sub == "." && name == ".":
		return f.base
	case f.sub == ".":
		return f.base + "/" + name
	case name == ".":
		return f.base + "/" + f.sub
	}
	return f.base + "/" + f.sub + "/" + name
}
