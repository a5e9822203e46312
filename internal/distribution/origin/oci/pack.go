package oci

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/archive"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/registry"
)

// isRelease reports whether a manifest is a release that knack published. The first layer of such an
// image is its index. Each other layer contains complete skills.
func isRelease(m *registry.Manifest) bool {
	return m.Annotations[registry.ReleaseKey] == "1" && len(m.Layers) > 1
}

// Packs implements [origin.Packed]. The first layer of a release is an index for readers that
// choose skills.
func (l *library) Packs() (packs []origin.Pack) {
	if l.image == nil || !isRelease(l.image.manifest) {
		return nil
	}
	for _, d := range l.image.manifest.Layers[1:] {
		packs = append(packs, origin.Pack{Digest: d.Digest, Size: d.Size})
	}
	return packs
}

// Unpack implements [origin.Packed].
func (l *library) Unpack(ctx context.Context, p origin.Pack, moved func(n int64), to origin.Counter) ([]origin.Skill, error) {
	packed, err := l.origin.options.Spool()
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	what := "the layer " + p.Digest
	if err := l.image.repo.Fetch(ctx, registry.Descriptor{Digest: p.Digest, Size: p.Size}, what, packed, moved); err != nil {
		return nil, err
	}
	bytes := io.NewSectionReader(packed, 0, p.Size)
	if packingOf(bytes) != tarball {
		return nil, notRelease("%s of %s is no tar", what, l.image.label)
	}
	files, err := l.origin.options.Spool()
	if err != nil {
		return nil, err
	}
	defer files.Close()
	u := unpacked{files: files, out: bufio.NewWriterSize(struct{ io.Writer }{files}, 64<<10)}
	err = archive.Walk(ctx, bytes, p.Size, u.add)
	if err == nil {
		err = u.out.Flush()
	}
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", what, l.image.label, err)
	}
	skills := origin.Find(u.entries, "")
	if len(skills) == 0 {
		return nil, notRelease("%s of %s has no skills", what, l.image.label)
	}
	all, sound := origin.Select(skills), origin.Sound(skills)
	for _, e := range u.entries {
		switch {
		case strings.HasPrefix(path.Base(e.Path), ".wh."):
			return nil, notRelease("%s of %s has %s: %w", what, l.image.label, display.Quote(e.Path), errWhiteout)
		case !holds(all, e.Path):
			return nil, notRelease("%s of %s has %s, which is in no skill of that layer", what, l.image.label, display.Quote(e.Path))
		}
	}
	if err := to.Expect(sound); err != nil {
		return nil, fmt.Errorf("%s of %s: %w", what, l.image.label, err)
	}
	return skills, u.send(ctx, origin.Select(sound), to)
}

// unpacked is a decompressed pack. A spool has the bytes of its files, one after the other. Only
// the end of the pack shows which files belong to skills.
type unpacked struct {
	files   origin.Spool
	out     *bufio.Writer // hides the ReadFrom of files, which would bypass this buffer
	entries []origin.Node
	starts  []int64 // the offset of each entry's bytes
	size    int64
}

func (u *unpacked) add(e origin.Node, content io.Reader) error {
	e.Path = strings.Clone(e.Path)
	u.entries, u.starts = append(u.entries, e), append(u.starts, u.size)
	if !e.Type.IsFile() {
		return nil
	}
	n, err := u.out.ReadFrom(content)
	u.size += n
	return err
}

// send sends the files of skills to the sink.
func (u *unpacked) send(ctx context.Context, skills origin.Selection, to origin.Sink) error {
	for i, e := range u.entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !e.Type.IsFile() {
			continue
		}
		end := u.size
		if i+1 < len(u.starts) {
			end = u.starts[i+1]
		}
		for s, below := range skills.Holders(e.Path) {
			f := origin.File{Path: below, Exec: e.Type == origin.Exec, Size: end - u.starts[i]}
			if err := to.File(s, f, io.NewSectionReader(u.files, u.starts[i], f.Size)); err != nil {
				delete(skills, s)
			}
		}
	}
	return nil
}

func notRelease(format string, args ...any) error {
	return origin.Mark(origin.ErrNoSkills, fmt.Errorf(format+": ask the publisher to publish the release again", args...))
}

// holds reports whether an entry is in one of these skills.
func holds(skills origin.Selection, at string) bool {
	for folder := range origin.FoldersOf(at) {
		if skills.Has(folder) {
			return true
		}
	}
	return false
}
