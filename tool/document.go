package tool

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/reads"
	"github.com/knack-dev/knack/skill"
)

// Document is a SKILL.md as served under its URI, by contract 004's tool and as a resource.
type Document struct {
	Text string
	// Fallback is set if the file cannot be read now. Text is then the text last served, or
	// a message.
	Fallback bool
	// ModelInvocable is false if the author keeps the skill from models: it is then a
	// resource, and no tool loads it.
	ModelInvocable bool
}

// ErrUnknown is returned if no skill has the URI.
var ErrUnknown = errors.New("no skill has this URI")

// engagePath is the path of the URI that always answers.
const engagePath = "engage/" + skill.MainFile

// Document reads the current SKILL.md with that canonical URI. If the skill exists but
// cannot be read now, it returns the text last served, or a message. If no skill has the
// URI skill://engage/SKILL.md, it returns the text of [Host.Engage]. The error is
// [ErrUnknown], or says why nothing is known of the URI ([ErrBusy], [skill.ErrUnstable] or a
// [*catalog.Incomplete]), or is the context's.
func (h *Host) Document(ctx context.Context, uri skill.URI) (Document, error) {
	d, err := h.document(ctx, uri)
	if err != nil && ctx.Err() == nil && uri.Path() == engagePath && h.Engage != nil {
		d, err = Document{Text: h.Engage(), ModelInvocable: true}, nil
		reads.TraceOf(ctx).Got(uri.String(), []byte(d.Text))
	}
	if d.Fallback {
		reads.TraceOf(ctx).Got(uri.String(), []byte(d.Text))
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
			text := textOf(data)
			h.served.remember(uri.String(), kept{label: e.Root.Label, path: e.Path, text: text})
			return Document{Text: text, ModelInvocable: now.ModelInvocable}, nil
		case err != nil && now.Available && !errors.Is(err, fs.ErrNotExist): // too many readers, or an unstable file
			return h.fallback(uri, e), nil
		}
		// Gone, renamed or blocked; the catalogue has been refreshed.
	}
	return Document{}, skill.ErrUnstable
}

// At finds the file of a URI, see [catalog.Snapshot.At]. If the view does not know it, At
// looks in a view of the current disk, which it returns. If it finds nothing, unsure says why
// there may be such a skill: [ErrBusy] or a [*catalog.Incomplete].
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

// uriFolders bounds the parts of a URI that are looked up as folders: a label and the depth
// of the search for skills.
const uriFolders = 16

// fallback returns the answer for a skill that cannot be read: the text last served.
func (h *Host) fallback(uri skill.URI, was *catalog.Entry) Document {
	d := Document{Fallback: true, ModelInvocable: was.ModelInvocable}
	if k, ok := h.served.recall(uri.String()); ok && k.label == was.Root.Label && k.path == was.Path {
		d.Text = k.text
	} else {
		d.Text = "# " + was.Name + "\n\nSkill content is temporarily unavailable.\nURI: " + uri.String()
	}
	return d
}

// kept is the text last served under a URI, with its skill.
type kept struct{ label, path, text string }

// Bounds of the kept texts, in bytes and in skills.
const (
	keptBytes = 8 << 20
	keptCount = 512
)

// memo keeps the texts last served, within bounds.
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
