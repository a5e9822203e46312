// Package release serves the skills of a release from the store. [Source.Set] gives a [Source]
// another release. The source serves that release from its next scan on.
//
// The store is not trusted. Each file is compared with its digest while it is read. If the bytes
// are wrong, the read that would return the last of them fails. The skill is then skipped, and the
// caller is notified and fetches the skill again.
//
// [Update] resolves and fetches a release for knack pull and for servers. [Rules] decide by signer,
// version and direction whether a release may follow the previous one.
package release

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Options are the settings of a [Source].
type Options struct {
	Root  skill.Root // its Dir is empty: the folders of the store stay private
	Store *store.Store
	// Damaged is called from any goroutine for a damaged skill, once until the next Set. It must
	// not block.
	Damaged func(d skill.Digest, path string)
}

// Source serves one release at a time. Its methods may be called from several goroutines.
type Source struct {
	o     Options
	root  *skill.Root
	first chan struct{} // closed by the first Set or Lack
	begun sync.Once     // closes first
	poked chan struct{} // capacity 1: signals another release or a damaged skill

	mu      sync.Mutex
	release string         // the digest of the served release
	lack    error          // why there is no release, after a first attempt
	members []store.Member // the members of a release that was not scanned yet, or nil
	placed  []*placedSkill // the skills of the last scan, by path
	scan    skill.Scan     // the last one; its version is 0 if it is outdated
	damaged map[skill.Digest]bool

	shelf   atomic.Pointer[dir.Shelf]
	manuals manifests
}

// versions numbers the scans of all sources, since one source may replace another.
var versions atomic.Uint64

// New returns a source without a release.
func New(o Options) *Source {
	root := o.Root
	return &Source{o: o, root: &root, first: make(chan struct{}), poked: make(chan struct{}, 1), damaged: map[skill.Digest]bool{}}
}

// Root implements [catalog.Source].
func (s *Source) Root() skill.Root { return s.o.Root }

// Change counts the skills that differ between two releases.
type Change struct{ Added, Changed, Removed int }

// Set serves another release from the next scan on, and requests that scan. The skills of r are
// sorted by path. A skill that the previous release had at the same path is not read again, unless
// it was damaged. A file that is open keeps the bytes of the previous release.
func (s *Source) Set(r store.Release) Change {
	s.mu.Lock()
	before, at := s.current(), 0
	var c Change
	for _, m := range r.Skills {
		for ; at < len(before) && before[at].path < m.Path; at++ {
			c.Removed++
		}
		switch {
		case at == len(before) || before[at].path != m.Path:
			c.Added++
			continue
		case before[at].digest != m.Skill:
			c.Changed++
		}
		at++
	}
	c.Removed += len(before) - at
	s.release, s.members, s.scan.Version, s.damaged = r.Digest, r.Skills, 0, map[skill.Digest]bool{}
	s.mu.Unlock()
	s.begun.Do(func() { close(s.first) })
	s.poke()
	return c
}

// Lack records why there is no release, after a failed attempt to get the first one. It has no
// effect once there is a release.
func (s *Source) Lack(why *skill.UnreachableError) {
	s.mu.Lock()
	s.lack = why
	s.mu.Unlock()
	s.begun.Do(func() { close(s.first) })
	s.poke()
}

// Release returns the digest of the release that is served, or "".
func (s *Source) Release() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.release
}

type member struct {
	path   string
	digest skill.Digest
}

// current returns the skills of the release, by path. The caller holds mu.
func (s *Source) current() []member {
	var all []member
	if s.members == nil {
		for _, p := range s.placed {
			all = append(all, member{p.Path, p.folder.digest})
		}
	}
	for _, m := range s.members {
		all = append(all, member{m.Path, m.Skill})
	}
	return all
}

func (s *Source) poke() {
	select {
	case s.poked <- struct{}{}:
	default:
	}
}

// Watch implements [catalog.Watcher].
func (s *Source) Watch(ctx context.Context, poke func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.poked:
			poke()
		}
	}
}

// placedSkill is a skill at its place in the release, with its file system. Both are in one object,
// since a release may have many thousands of skills.
type placedSkill struct {
	skill.Bundle
	folder folder
}

// Scan implements [catalog.Source]. Scan waits for the first Set or Lack. Until then, the root
// counts as still being read. It reads the disk only for skills that the last scan did not have.
func (s *Source) Scan(ctx context.Context) (skill.Scan, error) {
	select {
	case <-s.first:
	case <-ctx.Done():
		return skill.Scan{}, ctx.Err()
	}
	s.mu.Lock()
	if s.release == "" {
		defer s.mu.Unlock()
		return skill.Scan{}, s.lack
	}
	if s.scan.Version != 0 {
		defer s.mu.Unlock()
		return s.scan, nil
	}
	release, members, before, damaged := s.release, s.members, s.placed, s.damaged
	if members == nil {
		members = membersOf(before)
	}
	broken := make(map[skill.Digest]bool, len(damaged))
	for d := range damaged {
		broken[d] = true
	}
	s.mu.Unlock()
	now, skills, err := s.placeSkills(ctx, members, before, broken)
	if err != nil {
		return skill.Scan{}, err
	}
	scan := skill.Scan{Bundles: make([]*skill.Bundle, len(now)), Version: versions.Add(1)}
	for i, p := range now {
		scan.Bundles[i] = &p.Bundle
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.release == release && len(s.damaged) == len(broken) {
		s.members, s.placed, s.scan = nil, now, scan
	}
	scan.Skills = skills // not kept: they are the caller's
	return scan, nil
}

// membersOf returns the members of a release from its placed skills.
func membersOf(before []*placedSkill) []store.Member {
	members := make([]store.Member, len(before))
	for i, p := range before {
		f := &p.folder
		members[i] = store.Member{Path: p.Path, Skill: f.digest, Main: p.Entry, MainDigest: f.main, Fault: f.fault}
	}
	return members
}

// placeSkills returns all skills at their places, and the skills that it read. It reads only skills
// that the last scan did not have.
func (s *Source) placeSkills(ctx context.Context, members []store.Member, before []*placedSkill, broken map[skill.Digest]bool) ([]*placedSkill, []*skill.Skill, error) {
	shelf, err := s.open()
	if err != nil {
		return nil, nil, err
	}
	now := make([]*placedSkill, len(members))
	var anew []int
	var bundles []*skill.Bundle
	for i, m := range members {
		for len(before) > 0 && before[0].Path < m.Path {
			before = before[1:]
		}
		isBroken := broken[m.Skill] && m.Fault == ""
		if len(before) > 0 && before[0].Path == m.Path && before[0].folder.digest == m.Skill && before[0].folder.fault == m.Fault && before[0].sound() != isBroken {
			now[i] = before[0]
			continue
		}
		now[i] = s.skill(m, isBroken)
		if now[i].sound() {
			anew = append(anew, i)
			bundles = append(bundles, &now[i].Bundle)
		}
	}
	skills := make([]*skill.Skill, len(members))
	if len(anew) == 0 {
		return now, skills, nil
	}
	read, err := shelf.Load(ctx, bundles, func(i int) string { return s.below(now[anew[i]].folder.digest) }, len(before) > 0)
	if err != nil {
		return nil, nil, err
	}
	for i, k := range read {
		p := now[anew[i]]
		switch {
		case k == nil:
			k = skill.Load(&p.Bundle) // Load compares the skill with its digest
			p.Stamp = k.Stamp
		case k.Digest != p.folder.main:
			s.damage(p.folder.digest, p.Path)
		}
		if s.isDamaged(p.folder.digest) {
			broken[p.folder.digest] = true
			now[anew[i]] = s.skill(members[anew[i]], true)
			continue
		}
		skills[anew[i]] = k
	}
	return now, skills, nil
}

// skill returns a member of the release as a placed skill, without reading it.
func (s *Source) skill(m store.Member, broken bool) *placedSkill {
	p := &placedSkill{folder: folder{source: s, path: m.Path, main: m.MainDigest, digest: m.Skill, entry: m.Main, fault: m.Fault}}
	p.Path, p.In, p.Entry, p.FS = m.Path, s.root, m.Main, &p.folder
	switch {
	case m.Fault != "":
		p.Entry = skill.MainFile
		p.Extra = &skill.Extra{Fault: &skill.StoreError{Message: "could not be fetched: " + m.Fault, Fix: "tell the author of the skill"}}
	case broken:
		p.Extra = &skill.Extra{Fault: errDamaged}
	}
	return p
}

// sound reports whether a skill has no known fault.
func (p *placedSkill) sound() bool { return p.Extra == nil }

var errDamaged = &skill.StoreError{Damaged: true, Message: "it is damaged in the store, and will be fetched again", Fix: "wait for the next poll of its source; if it stays so, look at the disk of the store"}

// damage records that a skill does not match its digest.
func (s *Source) damage(d skill.Digest, path string) {
	s.mu.Lock()
	known := s.damaged[d]
	if !known {
		s.damaged[d] = true
		s.scan.Version = 0
	}
	s.mu.Unlock()
	if known {
		return
	}
	s.manuals.forget(d)
	if s.o.Damaged != nil {
		s.o.Damaged(d, path)
	}
	s.poke()
}

func (s *Source) isDamaged(d skill.Digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.damaged[d]
}

// open returns the store's folder, which exists as soon as a release does.
func (s *Source) open() (*dir.Shelf, error) {
	if shelf := s.shelf.Load(); shelf != nil {
		return shelf, nil
	}
	shelf, err := dir.OpenShelf(s.o.Store.Dir())
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	s.shelf.Store(shelf)
	return shelf, nil
}

// below returns the path of a skill below the store's folder, with slashes.
func (s *Source) below(d skill.Digest) string {
	rest := strings.TrimPrefix(s.o.Store.Folder(d), s.o.Store.Dir())
	return strings.TrimPrefix(filepath.ToSlash(rest), "/")
}

// manifests caches the lists of files of the skills that were read.
type manifests struct {
	mu  sync.Mutex
	all map[skill.Digest][]lockfile.File
}

// maxManifests is the maximum number of cached manifests. A skill of the usual size has 5 files, of
// 100 bytes each.
const maxManifests = 512

func (m *manifests) forget(d skill.Digest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, d)
}

// files returns the files of a skill, after checking that the store has all of it.
func (m *manifests) files(d skill.Digest, in *store.Store) ([]lockfile.File, error) {
	m.mu.Lock()
	files, ok := m.all[d]
	m.mu.Unlock()
	if ok {
		return files, nil
	}
	k, err := in.Find(d)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil || len(m.all) >= maxManifests {
		m.all = make(map[skill.Digest][]lockfile.File)
	}
	m.all[d] = k.Files
	return k.Files, nil
}
