package tool

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// Document is a SKILL.md as it is served under its URI, by contract 004's tool
// and as a resource alike.
type Document struct {
	Text string
	// Fallback: the file cannot be read now. Text is what was served last, or says
	// so where nothing was.
	Fallback bool
	// ModelInvocable is false where the author keeps the skill from models: a
	// resource then, and for no tool.
	ModelInvocable bool
}

// ErrUnknown: no skill has that URI.
var ErrUnknown = errors.New("no skill has this URI")

// engagePath is the path of the URI that always answers.
const engagePath = "engage/" + skill.MainFile

// Document reads the SKILL.md with that canonical URI as it is now. Of a skill
// that is there and cannot be read for the moment it returns the text last
// served; of skill://engage/SKILL.md, where no skill has it, that of
// [Host.Engage]. The error is [ErrUnknown] or the context's.
func (h *Host) Document(ctx context.Context, uri skill.URI) (Document, error) {
	d, err := h.document(ctx, uri)
	if errors.Is(err, ErrUnknown) && uri.Path() == engagePath && h.Engage != nil {
		return Document{Text: h.Engage(), ModelInvocable: true}, nil
	}
	return d, err
}

func (h *Host) document(ctx context.Context, uri skill.URI) (Document, error) {
	for range 4 {
		v, err := h.Catalog.View(ctx)
		if err != nil {
			return Document{}, err
		}
		e, path := v.At(uri)
		if e == nil || path != skill.MainFile {
			if k, ok := h.served.recall(uri.String()); ok && k.blocked(v) {
				return k.fallback(uri), nil
			}
			return Document{}, ErrUnknown
		}
		data, now, err := v.Read(ctx, e)
		switch {
		case ctx.Err() != nil:
			return Document{}, ctx.Err()
		case err == nil && now.Available && now.URI == e.URI:
			h.served.remember(uri.String(), kept{e.Root.Label, e.Path, now.Name, string(data), true, now.ModelInvocable})
			return Document{Text: string(data), ModelInvocable: now.ModelInvocable}, nil
		case errors.Is(err, fs.ErrNotExist) || err == nil:
			continue // gone or renamed; the catalogue knows by now
		}
		if _, ok := h.served.recall(uri.String()); !ok {
			h.served.remember(uri.String(), kept{label: e.Root.Label, path: e.Path, name: e.Name, models: e.ModelInvocable})
		}
		if k, _ := h.served.recall(uri.String()); now.Available || k.blocked(viewNow(h, v)) {
			return k.fallback(uri), nil
		}
	}
	return Document{}, ErrUnknown
}

func viewNow(h *Host, v catalog.View) catalog.View {
	if now, err := h.Catalog.View(context.Background()); err == nil { // ready since v was taken
		return now
	}
	return v
}

// kept is what was last served under a URI, and of which skill.
type kept struct {
	label, path string
	name, text  string
	whole       bool // text was served; else only the name is known
	models      bool // may read it
}

// blocked reports whether the skill is still in its place, and skipped only
// because its file cannot be read for the moment. A file that leads outside, or
// is another kind of thing by now, is none that was served.
func (k kept) blocked(v catalog.View) bool {
	for _, e := range v.Skipped {
		if e.Root.Label == k.label && e.Path == k.path {
			p, _ := e.SkipReason()
			return slices.Contains([]skill.RuleID{skill.RuleFilePermission, skill.RuleFileUnreadable, skill.RuleFileUnstable}, p.Rule)
		}
	}
	return false
}

func (k kept) fallback(uri skill.URI) Document {
	if k.whole {
		return Document{Text: k.text, Fallback: true, ModelInvocable: k.models}
	}
	return Document{Text: "# " + k.name + "\n\nSkill content is temporarily unavailable.\nURI: " + uri.String(), Fallback: true, ModelInvocable: k.models}
}

// Bounds of what is kept, in bytes and in skills.
const (
	keptBytes = 8 << 20
	keptCount = 512
)

// memo keeps the texts last served, the latest within bounds.
type memo struct {
	mu    sync.Mutex
	byURI map[string]kept
	order []string // oldest first
	bytes int
}

func (m *memo) recall(uri string) (kept, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.byURI[uri]
	return k, ok
}

func (m *memo) remember(uri string, k kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byURI == nil {
		m.byURI = map[string]kept{}
	}
	if old, ok := m.byURI[uri]; ok {
		m.bytes -= len(old.text)
		m.order = slices.DeleteFunc(m.order, func(u string) bool { return u == uri })
	}
	m.byURI[uri] = k
	m.order = append(m.order, uri)
	m.bytes += len(k.text)
	for m.bytes > keptBytes || len(m.order) > keptCount {
		oldest := m.order[0]
		m.bytes -= len(m.byURI[oldest].text)
		delete(m.byURI, oldest)
		m.order = m.order[1:]
	}
}
