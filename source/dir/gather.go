package dir

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/skill"
)

// gathers are the manifests that a scan makes on its way, as each folder is open: to
// open all folders once more afterwards, and each SKILL.md, is a third of what they
// cost. Of nested skills only the innermost has one.
type gathers struct {
	ctx context.Context
	any atomic.Bool // there was one
	mu  sync.Mutex
	of  map[*place]*gather // by the skill's folder; those that are not ended
}

// gather is the manifest of one skill as far as it is known. The scan comes to its
// folders by their paths, one after the other; what proves that they were one state
// when it came to the first is said at [walk.gather].
type gather struct {
	hashed Hashed
	until  time.Time // no byte is hashed after that
	at     time.Time // before the skill's folder was opened
	main   skill.Stamp
	dev    uint64

	mu      sync.Mutex
	awaited []uint64 // the inodes of its folders that were listed and not visited yet
	files   []skill.File
	bytes   int64
}

// begin begins one, for a skill of which SKILL.md was read just now.
func (g *gathers) begin(p *place, b *skill.Bundle, at time.Time, hashed Hashed, until time.Time) {
	dev := b.FS.(*folder).dev
	if dev == 0 || p.linked || b.Entry != skill.MainFile {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of == nil {
		g.of = map[*place]*gather{}
	}
	g.of[p] = &gather{hashed: hashed, until: until, at: at, main: b.Stamp, dev: dev}
	g.any.Store(true)
}

// find is the one of a skill, or nil.
func (g *gathers) find(skill *place) *gather {
	if skill == nil || !g.any.Load() {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.of[skill]
}

// end ends one, be it whole or not.
func (g *gathers) end(skill *place) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.of, skill)
}

// nest says that another skill lies in this one, if it is one: the files of that are
// both's.
func (g *gathers) nest(outer *place) {
	if outer != nil && g.any.Load() {
		g.end(outer)
	}
}
