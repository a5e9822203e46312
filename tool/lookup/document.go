package lookup

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Document is a SKILL.md as served under its URI, by contract 004's tool and as a resource.
type Document struct {
	Text string
	// Fallback is set if the file cannot be read now. Text is then the text last served, or
	// a message.
	Fallback bool
	// ModelInvocable is false if the author keeps the skill from models. Such a skill is a
	// resource, but no tool loads it.
	ModelInvocable bool
}

// ErrUnknown is returned if no skill has the URI.
var ErrUnknown = errors.New("no skill has this URI")

// engagePath is the path of the URI that always has a text.
const engagePath = "engage/" + skill.MainFile

// Document reads the current SKILL.md with the given canonical URI. If the skill exists but cannot
// be read now, it returns the text last served, or a message. If no skill has the URI
// skill://engage/SKILL.md, it returns the text of [Finder.Engage]. The error is [ErrUnknown] or the
// context's. If it is not certain whether the skill exists, the error is [ErrBusy],
// [skill.ErrUnstable] or a [*catalog.Incomplete].
func (f *Finder) Document(ctx context.Context, uri skill.URI) (Document, error) {
	d, err := f.document(ctx, uri)
	if err != nil && ctx.Err() == nil {
		if engage, ok := f.Engaged(uri); ok {
			d, err = engage, nil
			catalog.TraceOf(ctx).Got(uri.String(), []byte(d.Text))
		}
	}
	if d.Fallback {
		catalog.TraceOf(ctx).Got(uri.String(), []byte(d.Text))
	}
	return d, err
}

// Engaged returns the text of [Finder.Engage] for the URI skill://engage/SKILL.md. ok is false for
// any other URI, and if Engage is not set.
func (f *Finder) Engaged(uri skill.URI) (d Document, ok bool) {
	if f.Engage == nil || uri.Path() != engagePath {
		return Document{}, false
	}
	return Document{Text: f.Engage(), ModelInvocable: true}, true
}

func (f *Finder) document(ctx context.Context, uri skill.URI) (Document, error) {
	for range 4 {
		v, err := f.Catalog.View(ctx)
		if err != nil {
			return Document{}, err
		}
		v, e, path, unsure := f.At(ctx, v, uri)
		switch was := v.Blocked(uri); {
		case ctx.Err() != nil:
			return Document{}, ctx.Err()
		case e != nil && path == skill.MainFile:
		case was != nil:
			return f.fallback(uri, was, faultAt(v, was)), nil
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
			text := display.TextOf(data)
			f.served.remember(uri.String(), servedText{label: e.Root.Label, path: e.Path, text: text})
			return Document{Text: text, ModelInvocable: now.ModelInvocable}, nil
		case err != nil && now.Available && !errors.Is(err, fs.ErrNotExist): // there are too many readers, or the file is unstable
			return f.fallback(uri, e, err), nil
		}
		// The file is gone, renamed or blocked. The catalogue has been refreshed.
	}
	return Document{}, skill.ErrUnstable
}

// fallback returns the answer for a skill that cannot be read. That is the text last served. The
// text is not served if the skill's lock or the operator's policy forbids it.
func (f *Finder) fallback(uri skill.URI, was *catalog.Entry, why error) Document {
	d := Document{Fallback: true, ModelInvocable: was.ModelInvocable}
	if k, ok := f.served.recall(uri.String()); ok && skill.Refusal(why) == nil && k.label == was.Root.Label && k.path == was.Path {
		d.Text = k.text
	} else {
		d.Text = "# " + was.Name + "\n\nSkill content is temporarily unavailable.\nURI: " + uri.String()
	}
	return d
}

// faultAt returns the reason that the skill now at an entry's place cannot be served, as the last
// scan found it. It returns nil if there is no such reason.
func faultAt(v catalog.View, was *catalog.Entry) error {
	for _, e := range v.Entries {
		if e.Root.Label == was.Root.Label && e.Path == was.Path {
			return e.Fault()
		}
	}
	return nil
}

// servedText is the text last served under a URI, with its skill.
type servedText struct{ label, path, text string }

// Bounds of the cached texts, in bytes and in skills.
const (
	keptBytes = 8 << 20
	keptCount = 512
)

// served caches the texts last served, within bounds.
type served struct {
	mu    sync.Mutex
	byURI map[string]servedText
	order []string // oldest first
	bytes int
}

func (s *served) recall(uri string) (servedText, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.byURI[uri]
	return k, ok
}

func (s *served) remember(uri string, k servedText) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byURI == nil {
		s.byURI = map[string]servedText{}
	}
	if old, ok := s.byURI[uri]; ok {
		s.bytes -= len(old.text)
		s.order = slices.DeleteFunc(s.order, func(u string) bool { return u == uri })
	}
	s.byURI[uri] = k
	s.order = append(s.order, uri)
	s.bytes += len(k.text)
	for s.bytes > keptBytes || len(s.order) > keptCount {
		oldest := s.order[0]
		s.bytes -= len(s.byURI[oldest].text)
		delete(s.byURI, oldest)
		s.order = s.order[1:]
	}
}
