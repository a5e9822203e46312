package catalog

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/skill"
)

// hashed are manifests that the first scan has made on its way, because somebody had
// asked for them before it ended: it has each folder open, and each SKILL.md read.
type hashed struct {
	wanted atomic.Bool
	mu     sync.Mutex
	of     map[*skill.Skill]manifest
}

// manifest are a skill's files as they were at a time.
type manifest struct {
	files []skill.File
	at    time.Time
}

// hashFor is how long after its begin a scan goes on to hash what it finds, be it in the
// middle of a file: all who wait for its end wait for that too, and what is older than
// [AheadGood] at the end must be looked at again.
const hashFor = 750 * time.Millisecond

// sink is where the manifest of a skill goes that was read just now, by a scan that
// began at a time, and until when it may be made; nil where none is wanted.
func (h *hashed) sink(s *skill.Skill, begun time.Time) (take func([]skill.File, time.Time), until time.Time) {
	if !h.wanted.Load() || !s.Publishable || time.Since(begun) > hashFor {
		return nil, until
	}
	take = func(files []skill.File, at time.Time) {
		for i := range files {
			if f := &files[i]; f.Path == skill.MainFile && f.Stamp == s.Stamp {
				f.Digest = s.Digest
			}
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.of == nil {
			h.of = map[*skill.Skill]manifest{}
		}
		h.of[s] = manifest{files, at}
	}
	return take, begun.Add(hashFor)
}

// take hands over what was made for a skill, once.
func (h *hashed) take(s *skill.Skill) (m manifest, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m, ok = h.of[s]; ok {
		delete(h.of, s)
	}
	return m, ok
}

// drop forgets what nobody has taken.
func (h *hashed) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of = nil
}

// Expect says that a list of manifests is being asked for: where the skills are still
// being read for the first time, their files are hashed at once.
func (m *Manifests) Expect() {
	c := m.catalog
	if c.current.Load() == nil && !c.hashed.wanted.Swap(true) {
		c.expected()
	}
}
