package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skillsext"
)

// The bounds of a server's lists, equal to the bounds of knack check.
const (
	maxListed   = 100_000   // skills
	maxManifest = 1_000_000 // files of all skills
	maxFolders  = 1_000     // of a skill without a list of its files
)

// atOnce is the maximum number of files that are requested concurrently. Each may be 16 MiB.
const atOnce = 4

// library is a connection to a server.
type library struct {
	ref     origin.Ref
	opts    Options
	client  *skillsext.Client
	folders bool // the server can list folders

	entries  map[string]entry
	paths    []string
	revision string

	mu       sync.Mutex // guards the fields below
	arrived  int64
	exceeded error
	status   int
	page     bool  // an answer was text for people
	network  error // why the last request had no answer
}

// update changes the fields that mu guards.
func (l *library) update(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// Revision returns the revision of the list, or an empty one before the skills are listed.
func (l *library) Revision() origin.Revision { return origin.Revision{ID: l.revision} }

// Separate implements [origin.Separate].
func (l *library) Separate() {}

// Close ends the session.
func (l *library) Close() error { return l.client.Session.Close() }

// Skills lists the server's skills.
func (l *library) Skills(ctx context.Context) ([]origin.Skill, error) {
	if l.entries == nil {
		if err := l.list(ctx); err != nil {
			return nil, err
		}
	}
	skills := make([]origin.Skill, len(l.paths))
	for i, p := range l.paths {
		skills[i] = l.entries[p].Skill
	}
	return skills, nil
}

func (l *library) list(ctx context.Context) error {
	ctx, stop := l.within(ctx)
	defer stop()
	entries, count, files := map[string]entry{}, 0, 0
	for s, err := range l.client.All(ctx) {
		bad, _ := errors.AsType[*skillsext.EntryError](err)
		switch {
		case bad != nil:
			s = &skillsext.Skill{URI: bad.URI}
		case err != nil:
			return l.reason(ctx, err)
		}
		count++
		files += len(s.Resources.List())
		if count > maxListed || files > maxManifest {
			return fmt.Errorf("%s: the server lists more than %s skills or %s files", l.ref.Source, display.Thousands(maxListed), display.Thousands(maxManifest))
		}
		e, ok := entryOf(s)
		if !ok {
			l.opts.Warn(fmt.Sprintf("%s: %s is not the address of a skill; it is left out", l.ref.Source, display.Quote(s.URI)))
			continue
		}
		if bad != nil {
			e.Fault = fmt.Errorf("the server's list is damaged there: %s", display.Echo(bad.Error()))
		}
		if was, twice := entries[e.Path]; twice {
			e = was
			e.Fault = errors.New("the server lists it twice")
		}
		entries[e.Path] = e
	}
	l.entries = entries
	for p := range entries {
		l.paths = append(l.paths, p)
	}
	slices.Sort(l.paths)
	l.revision = l.digest()
	return nil
}

// digest returns the ID of the list's revision, or "" if a skill has no digest.
func (l *library) digest() string {
	sum := sha256.New()
	for _, p := range l.paths {
		e := l.entries[p]
		if e.listing.Resources.IsDynamic() && e.Fault == nil {
			return ""
		}
		fmt.Fprintf(sum, "%s %q %v\n", e.Digest, p, e.Fault)
	}
	return "http:" + hex.EncodeToString(sum.Sum(nil))
}

// Fetch sends the files of skills.
func (l *library) Fetch(ctx context.Context, skills []origin.Skill, to origin.Sink) error {
	if _, err := l.Skills(ctx); err != nil {
		return err
	}
	for _, s := range skills {
		e, ok := l.entries[s.Path]
		switch {
		case !ok:
			to.Fail(s.Path, fmt.Errorf("the server has no skill %s", display.Quote(s.Path)))
			continue
		case e.Fault != nil:
			to.Fail(s.Path, e.Fault)
			continue
		}
		err := l.fetch(ctx, e, to)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			to.Fail(s.Path, err)
		}
	}
	return nil
}

// answers reports whether the server has answered the last request, and has answered no request
// with an error status.
func (l *library) answers() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status == 0 && l.network == nil
}

// arrive counts received bytes, and returns their sum.
func (l *library) arrive(n int) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrived += int64(n)
	return l.arrived
}

// errRefused stops the fetch of a skill whose further files the sink refuses. The sink has recorded
// the reason.
var errRefused = errors.New("refused by the sink")

// fetch sends the files of one skill.
func (l *library) fetch(ctx context.Context, e entry, to origin.Sink) error {
	if e.listing.Resources.IsDynamic() {
		if err := l.walk(ctx, &e); err != nil {
			return err
		}
		l.opts.Warn(fmt.Sprintf("%s: the server makes the files of %s anew each time, so an update may find other ones", l.ref.Source, display.Quote(e.Path)))
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	var sending sync.Mutex
	slots := make(chan struct{}, atOnce)
	for _, f := range e.files {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			data, err := l.client.Read(ctx, e.listing, f.uri)
			if err != nil {
				stop(l.unread(ctx, e, f, err))
				return
			}
			sending.Lock()
			defer sending.Unlock()
			l.opts.Progress.Report(origin.Bytes, l.arrive(len(data)), 0)
			if ctx.Err() == nil && to.File(e.Path, origin.File{Path: f.path, Size: int64(len(data))}, bytes.NewReader(data)) != nil {
				stop(errRefused)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, errRefused) {
		return err
	}
	return nil
}

// unread returns the error of an unavailable file. If the content differs from the list, it asks
// the server whether the skill has changed meanwhile.
func (l *library) unread(ctx context.Context, e entry, f file, err error) error {
	var differs *skillsext.VerificationError
	if !errors.As(err, &differs) {
		reason := fmt.Errorf("%s: %w", f.path, l.reason(ctx, err))
		if skillsext.IsAnswer(err) && l.answers() {
			return reason
		}
		return &origin.Outage{Err: reason}
	}
	now, getting := l.client.Get(ctx, e.listing.URI)
	if getting == nil && now.Skill != nil {
		if again, ok := entryOf(now.Skill); ok && again.Digest != e.Digest {
			return &origin.Outage{Err: errors.New("the skill was changed on the server while it was fetched: run the command again")}
		}
	}
	return fmt.Errorf("the server sends a file that is not the one of its own list: %s", display.Echo(differs.Error()))
}

// walk finds the files of a skill that has no list of them.
func (l *library) walk(ctx context.Context, e *entry) error {
	ctx, stop := l.within(ctx)
	defer stop()
	var paths origin.Paths
	e.files, e.Left = []file{{path: skill.MainFile, uri: e.listing.URI}}, 0
	if !l.folders {
		l.opts.Warn(fmt.Sprintf("%s: the server lists no files of %s, so only its %s is installed", l.ref.Source, display.Quote(e.Path), skill.MainFile))
		return nil
	}
	e.files = nil
	type folder struct{ uri, path string }
	left := []folder{{e.root, ""}}
	for n := 0; len(left) > 0; n++ {
		at := left[0]
		left = left[1:]
		if n == maxFolders || strings.Count(at.path, "/") > skill.MaxDepth {
			return fmt.Errorf("the skill has more than %s folders, or folders that are too deep", display.Thousands(maxFolders))
		}
		for r, err := range l.client.Children(ctx, at.uri) {
			if err != nil {
				return &origin.Outage{Err: l.reason(ctx, err)}
			}
			if r == nil {
				continue
			}
			name, ok := child(at.uri, r.URI)
			if !ok {
				return fmt.Errorf("the server lists %s, which is not in the folder %s", display.Quote(r.URI), display.Quote(at.uri))
			}
			name = path.Join(at.path, name)
			switch {
			case origin.HiddenPart(name) != "":
				e.Left++
			case r.MIMEType == skillsext.DirectoryType:
				left = append(left, folder{r.URI, name})
			default:
				if err := paths.Add(name); err != nil {
					return err
				}
				if e.files = append(e.files, file{path: name, uri: r.URI}); len(e.files) > origin.MaxFiles {
					return origin.TooManyFiles()
				}
			}
		}
	}
	if !slices.ContainsFunc(e.files, func(f file) bool { return f.path == skill.MainFile }) {
		return fmt.Errorf("the server does not list its %s", skill.MainFile)
	}
	return nil
}
