package tool

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
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
// served, or says so; of skill://engage/SKILL.md, where no skill has it, that of
// [Host.Engage]. The error is [ErrUnknown]; or says why that cannot be known now:
// [ErrBusy], a [*catalog.Incomplete] or [skill.ErrUnstable]; or is the context's.
func (h *Host) Document(ctx context.Context, uri skill.URI) (Document, error) {
	d, err := h.document(ctx, uri)
	if err != nil && ctx.Err() == nil && uri.Path() == engagePath && h.Engage != nil {
		d, err = Document{Text: h.Engage(), ModelInvocable: true}, nil
		catalog.Gave(ctx, uri, []byte(d.Text))
	}
	if d.Fallback {
		catalog.Gave(ctx, uri, []byte(d.Text))
	}
	return d, err
}

func (h *Host) document(ctx context.Context, uri skill.URI) (Document, error) {
	for range 4 {
		v, err := h.Catalog.View(ctx)
		if err != nil {
			return Document{}, err
		}
		v, e, path, unsure := h.At(ctx, v, uri)
		switch was := v.Blocked(uri); {
		case ctx.Err() != nil:
			return Document{}, ctx.Err()
		case e != nil && path == skill.MainFile:
		case was != nil:
			return h.fallback(uri, was), nil
		case e == nil && unsure != nil:
			return Document{}, unsure
		default:
			return Document{}, ErrUnknown
		}
		data, now, err := v.Read(ctx, e)
		switch {
		case ctx.Err() != nil:
			return Document{}, ctx.Err()
		case err == nil && now.Available && now.SameURI(e):
			h.served.remember(uri.String(), kept{label: e.Root.Label, path: e.Path, text: string(data)})
			return Document{Text: string(data), ModelInvocable: now.ModelInvocable}, nil
		case err != nil && now.Available && !errors.Is(err, fs.ErrNotExist): // too many readers, or an unstable file
			return h.fallback(uri, e), nil
		}
		// Gone, renamed or blocked; the catalogue knows by now.
	}
	return Document{}, skill.ErrUnstable
}

// At finds what a URI addresses, see [catalog.Snapshot.At]; where the view does not
// know it, in one that knows what the disk has now, which it returns. If it finds nothing,
// unsure is why there may be such a skill: [ErrBusy] or a [*catalog.Incomplete].
func (h *Host) At(ctx context.Context, v catalog.View, uri skill.URI) (now catalog.View, e *catalog.Entry, path string, unsure error) {
	if e, path := v.At(uri); e != nil {
		return v, e, path, nil
	}
	keys := map[skill.Key]bool{}
	for segment := range strings.SplitSeq(uri.Path(), "/") {
		if len(keys) < uriFolders {
			keys[skill.KeyOf(segment)] = true
		}
	}
	v, _, unsure = h.fresher(ctx, v, func(folder string) bool { return keys[skill.KeyOf(folder)] })
	e, path = v.At(uri)
	return v, e, path, unsure
}

// uriFolders bounds how many parts of a URI are looked for as folders: a label and
// the depth to which skills are searched.
const uriFolders = 16

// fallback is what a skill that cannot be read is answered with: what it was when
// it was last served.
func (h *Host) fallback(uri skill.URI, was *catalog.Entry) Document {
	d := Document{Fallback: true, ModelInvocable: was.ModelInvocable}
	if k, ok := h.served.recall(uri.String()); ok && k.label == was.Root.Label && k.path == was.Path {
		d.Text = k.text
	} else {
		d.Text = "# " + was.Name + "\n\nSkill content is temporarily unavailable.\nURI: " + uri.String()
	}
	return d
}

// kept is what was last served under a URI, and of which skill.
type kept struct{ label, path, text string }

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
