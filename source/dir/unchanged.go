package dir

import (
	"context"
	"hash/maphash"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/skill"
)

// A scan of an unchanged tree reads no folder. A folder's time stamps change with its entries, so
// one stat of each folder and of each SKILL.md is enough. The tree is walked again if a folder's
// stamp differs, or is so young that a later change might not alter it. On file systems that are
// not known to keep stamps, the tree is always walked.

// versions numbers the states of trees for all sources of a process, because a new source may
// replace another one on the same root.
var versions atomic.Uint64

const (
	// maxSpecial bounds the links and the entries that are not regular files. Each of these is
	// resolved again.
	maxSpecial = 1000
	// trusted is how long stamps are trusted. After that time, the tree is walked anyway.
	trusted = 10 * time.Minute
)

// scanState is the result of a scan that the next one starts from.
type scanState struct {
	real    string // of the root
	begun   time.Time
	folders []visited
	bundles []int32        // 1 + the index in the scan of each folder's bundle; 0 if it is not a skill
	bases   map[int]string // folders to which a link led, by index in folders
	links   []followedLink
	special []int // indexes of the bundles whose entry is not a regular file or has a fault
	scan    skill.Scan
	proven  bool // equal stamps prove that nothing has changed
}

// visited is a folder that the last scan visited.
type visited struct {
	sub string // path below the base of the link on the way, or below the root
	sum uint64 // the checksum of its stamp; unsure if the stamp does not show changes of its entries
}

const unsure = 0

// stampSeed seeds the checksums of stamps. Only checksums are stored, to save memory: the stamps of
// 200,000 folders take 8 MB.
var stampSeed = maphash.MakeSeed()

func sumOf(s skill.Stamp) uint64 { return maphash.Comparable(stampSeed, s) }

// realOf returns the real absolute path of a folder.
func (l *scanState) realOf(i int) string {
	base, ok := l.bases[i]
	if !ok {
		base = l.real
	}
	p := node{sub: l.folders[i].sub, origin: &origin{base: base}}
	return p.real()
}

// followedLink is a link between the skills, with its target. A link itself cannot be changed, only
// replaced, and then its folder's stamp changes. But the target can change.
type followedLink struct{ at, target, why string }

func followed(at string) (k followedLink, err error) {
	k.at = at
	if k.target, err = resolve(at); err != nil {
		k.why = bare(err).Error()
	}
	return k, err
}

// stampHandle is a handle that returns stamps by path. It may follow links on the way, so a stamp
// only shows whether it equals a known one.
type stampHandle interface {
	handle
	// keepsTimes reports whether the folder is on a file system that is known to change a
	// folder's stamp with its entries.
	keepsTimes() bool
	stamp(name string) (skill.Stamp, error)
}

// unchanged returns the state that a scan would produce now. That is l, or a copy of l with new
// stamps if only SKILL.md files have changed. It returns nil if the stamps do not prove this.
func (s *Source) unchanged(ctx context.Context, l *scanState, top handle, real string) *scanState {
	h, ok := top.(stampHandle)
	if !ok || l == nil || !l.proven || l.real != real || time.Since(l.begun) > trusted {
		return nil
	}
	for _, k := range l.links {
		if now, _ := followed(k.at); now != k {
			return nil
		}
	}
	next := l
	for n, f := range l.folders {
		name := f.sub
		if _, linked := l.bases[n]; linked {
			name = l.realOf(n)
		}
		if stamp, err := h.stamp(name); err != nil || f.sum == unsure || f.sum != sumOf(stamp) || !pause(ctx, n) {
			return nil
		}
		// The entry comes right after its folder, whose path the system has just walked.
		i := int(l.bundles[n]) - 1
		if i < 0 || l.scan.Bundles[i].Entry == "" {
			continue
		}
		b := l.scan.Bundles[i]
		if _, special := slices.BinarySearch(l.special, i); !special {
			if stamp, err := h.stamp(entryOf(b)); err == nil && stamp == b.Stamp {
				continue
			}
		}
		now, fault := examined(b)
		switch {
		case !sameFault(fault, b.Fault()), now.Dev != b.Stamp.Dev:
			return nil
		case now == b.Stamp:
			continue
		case next == l:
			changed := *l // the copy must not be trusted longer than l
			next = &changed
			next.scan.Version = versions.Add(1)
			next.scan.Bundles = slices.Clone(l.scan.Bundles)
		}
		next.scan.Bundles[i] = stamped(b, now)
	}
	return next
}

// pause yields the processor now and then, because system calls are too short for the scheduler to
// preempt them. Without it, a call would wait up to 10 ms, the length of a time slice. It reports
// whether to continue.
func pause(ctx context.Context, i int) bool {
	if i%32 != 0 {
		return true
	}
	runtime.Gosched()
	return ctx.Err() == nil
}

// entryOf returns the path of a bundle's entry: absolute if a link led to the bundle,
// else below the root.
func entryOf(b *skill.Bundle) string {
	switch {
	case b.Link() != "":
		return b.FS.(*folder).base + "/" + b.Entry
	case b.Path == ".":
		return b.Entry
	}
	return b.Path + "/" + b.Entry
}

// examined examines the entry of a bundle again, whatever its kind.
func examined(b *skill.Bundle) (skill.Stamp, error) {
	f := b.FS.(*folder)
	h, err := f.enter()
	if err != nil {
		return skill.Stamp{}, err
	}
	defer h.close()
	return examine(h, b.Entry, f)
}

func sameFault(a, b error) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Error() == b.Error()
}

// stamped returns a copy of a bundle with another stamp.
func stamped(b *skill.Bundle, stamp skill.Stamp) *skill.Bundle {
	now := &bundled{*b, *b.FS.(*folder)}
	now.FS, now.Stamp = &now.folder, stamp
	return &now.Bundle
}

// state builds the state from which the next scan starts.
func (w *walk) state(scan skill.Scan) *scanState {
	scan.Skills = nil // the skills belong to the caller
	l := &scanState{real: w.real, begun: w.begun, scan: scan, folders: make([]visited, len(w.folders)), bundles: make([]int32, len(w.folders)), bases: map[int]string{}, links: w.links}
	for i, p := range w.folders {
		if l.folders[i] = (visited{p.sub, p.sum}); !p.proven {
			l.folders[i].sum = unsure
		}
		l.bundles[i] = p.bundle
		if p.base != w.real {
			l.bases[i] = p.base
		}
	}
	for i, b := range scan.Bundles {
		if b.Entry != "" && (b.Fault() != nil || w.special[b.Path]) {
			l.special = append(l.special, i)
		}
	}
	l.proven = w.proven && len(l.links) <= maxSpecial && len(l.special) <= maxSpecial
	return l
}
