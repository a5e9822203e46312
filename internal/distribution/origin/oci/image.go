package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/archive"
	"github.com/knack-dev/knack/internal/distribution/origin"
	archived "github.com/knack-dev/knack/internal/distribution/origin/archive"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/skill"
)

// image is an image or an artifact: a stack of layers.
type image struct {
	origin   *Origin
	repo     *registry.Repository
	manifest *registry.Manifest
	label    string // for progress

	mu      sync.Mutex // held while the image is read
	spool   origin.Spool
	layers  []layer // nil until they are fetched
	entries []origin.Node
	from    []int          // the layer of each entry
	at      map[string]int // the entry of a path, from the last layer with it
	named   int            // bytes of all paths and descriptions
	size    int64          // bytes of all files
	skills  []origin.Skill
	texts   map[string]origin.Skill // name and description by the path of a main file
}

type layer struct {
	bytes   *io.SectionReader
	packing packing
	title   string
	folder  bool // its publisher marked it for unpacking
}

// fetch fetches the layers, several of them concurrently.
func (m *image) fetch(ctx context.Context) error {
	if m.layers != nil {
		return nil
	}
	// One file holds all layers, since a process can open only a limited number.
	spool, err := m.origin.options.Spool()
	if err != nil {
		return err
	}
	layers := make([]layer, len(m.manifest.Layers))
	var total int64
	for i, d := range m.manifest.Layers {
		layers[i].bytes = io.NewSectionReader(spool, total, d.Size)
		total += d.Size
	}
	var done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(registry.AtOnce)
	start := int64(0)
	for i, d := range m.manifest.Layers {
		layers[i].title, layers[i].folder = d.Annotations[registry.TitleKey], d.Annotations[unpackKey] == "true"
		what, to := fmt.Sprintf("layer %d of %d", i+1, len(layers)), io.NewOffsetWriter(spool, start)
		start += d.Size
		group.Go(func() error {
			err := m.repo.Fetch(ctx, d, what, to, func(n int64) { m.origin.options.Progress.Report(origin.Bytes, done.Add(n), total) })
			if err != nil {
				return err
			}
			layers[i].packing = packingOf(layers[i].bytes)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return errors.Join(err, spool.Close())
	}
	// If SKILL.md is its own layer, each layer is a file. In that case, an archive with a title is
	// a file of the skill and is not unpacked.
	if slices.ContainsFunc(layers, func(l layer) bool {
		return l.packing == single && skill.IsEntryNameInAnyCase(path.Base(l.title))
	}) {
		for i := range layers {
			if layers[i].title != "" && !layers[i].folder {
				layers[i].packing = single
			}
		}
	}
	m.spool, m.layers = spool, layers
	return nil
}

func (m *image) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spool == nil {
		return nil
	}
	defer func() { m.spool, m.layers, m.skills = nil, nil, nil }()
	return m.spool.Close()
}

// file is an entry of a layer.
type file struct {
	origin.Node
	content io.Reader
}

// walk calls yield in order for each entry of the layers that is not a folder.
func (m *image) walk(ctx context.Context, yield func(layer int, f file) error) error {
	for i, l := range m.layers {
		err := l.walk(ctx, func(f file) error { return yield(i, f) })
		if err != nil {
			return fmt.Errorf("layer %d of %d of %s: %w", i+1, len(m.layers), m.label, err)
		}
	}
	return nil
}

func (l *layer) walk(ctx context.Context, yield func(file) error) error {
	switch {
	case l.packing == zstd:
		return errors.New("it is packed with zstd, which knack does not read: ask the publisher for gzip")
	case l.packing == tarball:
		return archive.Walk(ctx, l.bytes, l.bytes.Size(), func(e origin.Node, content io.Reader) error {
			return yield(file{e, content})
		})
	case l.title == "": // such as the empty layer of an artifact without content
		return nil
	}
	title := strings.TrimPrefix(l.title, "./")
	if err := origin.CheckPath(title); err != nil {
		return fmt.Errorf("%w: ask the publisher to push it again", err)
	}
	return yield(file{origin.Node{Path: title, Size: l.bytes.Size()}, io.NewSectionReader(l.bytes, 0, l.bytes.Size())})
}

var errWhiteout = errors.New("it removes files of the layers below (a whiteout), which knack does not do: ask the publisher for a single layer")

// read fetches the layers and finds the skills in them.
func (m *image) read(ctx context.Context) ([]origin.Skill, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.skills != nil {
		return m.skills, nil
	}
	if err := m.fetch(ctx); err != nil {
		return nil, err
	}
	m.entries, m.from, m.at, m.named, m.size, m.texts = nil, nil, map[string]int{}, 0, 0, map[string]origin.Skill{}
	var whiteout error
	err := m.walk(ctx, func(layer int, f file) error {
		if strings.HasPrefix(path.Base(f.Path), ".wh.") {
			whiteout = fmt.Errorf("layer %d of %d of %s has %s: %w", layer+1, len(m.layers), m.label, display.Quote(f.Path), errWhiteout)
			return nil
		}
		return m.add(layer, f)
	})
	if err != nil {
		return nil, err
	}
	skills := origin.Find(m.entries, "")
	if len(skills) == 0 {
		return nil, origin.Mark(origin.ErrNoSkills, fmt.Errorf("%s has no skills: no file of its %s is called %s", m.label, display.Count(len(m.layers), "layer"), skill.MainFile))
	}
	if whiteout != nil {
		return nil, whiteout
	}
	err = archived.Describe(ctx, skills, m.texts, func(visit func(origin.Node, io.Reader) error) error {
		return m.walk(ctx, func(layer int, f file) error {
			if at, ok := m.at[f.Path]; !ok || m.from[at] != layer {
				return nil
			}
			return visit(f.Node, f.content)
		})
	})
	if err != nil {
		return nil, err
	}
	m.skills, m.texts = skills, nil
	return skills, nil
}

// add adds an entry, which replaces an entry of a lower layer with the same path. If one layer has
// a path twice, both entries stay, and the skill is refused for that.
func (m *image) add(layer int, f file) error {
	f.Path = strings.Clone(f.Path)
	if was, ok := m.at[f.Path]; ok && m.from[was] != layer {
		m.entries[was], m.from[was] = f.Node, layer
	} else {
		m.at[f.Path] = len(m.entries)
		m.entries, m.from = append(m.entries, f.Node), append(m.from, layer)
		m.named += len(f.Path)
	}
	m.size += max(f.Size, 0)
	switch {
	case len(m.entries) > archive.MaxEntries || m.named > maxNames:
		return origin.Mark(origin.ErrLimit, fmt.Errorf("the layers have more than %s files, or very long names: is this an artifact of skills?", display.Thousands(archive.MaxEntries)))
	case m.size < 0 || m.size > archive.MaxUnpacked:
		return origin.Mark(origin.ErrLimit, fmt.Errorf("the layers have more than %d GiB when they are unpacked: is this an artifact of skills?", archive.MaxUnpacked>>30))
	}
	if !skill.IsEntryNameInAnyCase(path.Base(f.Path)) {
		return nil
	}
	delete(m.texts, f.Path)
	if !f.Type.IsFile() || f.Size > skill.MaxSkillMD {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f.content, skill.MaxSkillMD+1))
	if err != nil {
		return err
	}
	s := origin.Skill{Path: path.Dir(f.Path), Main: path.Base(f.Path)}
	origin.Describe(&s, data)
	m.named += len(s.Name) + len(s.Description)
	m.texts[f.Path] = s
	return nil
}

// send sends the files of skills to the sink, under the path that rename returns.
func (m *image) send(ctx context.Context, skills origin.Selection, rename func(string) string, to origin.Sink) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	refused := map[string]bool{}
	return m.walk(ctx, func(layer int, f file) error {
		at, ok := m.at[f.Path]
		if !ok || m.from[at] != layer || !f.Type.IsFile() {
			return nil
		}
		var holders [][2]string
		for s, below := range skills.Holders(f.Path) {
			if !refused[s] {
				holders = append(holders, [2]string{s, below})
			}
		}
		return m.deliver(holders, f, rename, to, refused)
	})
}

// deliver sends one file to each skill that contains it. Few files are in several skills, and only
// their bytes are read twice.
func (m *image) deliver(holders [][2]string, f file, rename func(string) string, to origin.Sink, refused map[string]bool) error {
	if len(holders) == 0 {
		return nil
	}
	content := f.content
	var spool origin.Spool
	if len(holders) > 1 {
		var err error
		if spool, err = m.origin.options.Spool(); err != nil {
			return err
		}
		defer spool.Close()
		if _, err := io.Copy(spool, content); err != nil {
			return err
		}
	}
	for _, h := range holders {
		if spool != nil {
			content = io.NewSectionReader(spool, 0, f.Size)
		}
		if err := to.File(rename(h[0]), origin.File{Path: h[1], Exec: f.Type == origin.Exec, Size: f.Size}, content); err != nil {
			refused[h[0]] = true
		}
	}
	return nil
}
