package publish

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/internal/base/semver"
	"github.com/knack-dev/knack/internal/distribution/archive"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/skill"
)

const (
	// maxPacks is the maximum number of packs of a release, so that it has at most 65 layers.
	// Overlay file systems support about 125.
	maxPacks = 64
	// packSize is the approximate number of tar bytes in a pack. It is measured before
	// compression, which differs between versions of Go. Real skills shrink to a quarter.
	packSize = 1 << 20
)

// Library publishes a folder of skills as a release, or its only skill as an artifact. lock has
// entries for skills that were installed into the library, by their folders; it may be nil. The
// warning, if not "", is about names that several skills have.
func (p *Publisher) Library(ctx context.Context, lib origin.Library, lock map[string]lockfile.Skill, to Target) (r *Result, warning string, err error) {
	c, err := p.read(ctx, lib)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	r = &Result{Kind: Release, Skills: c.skills, Left: c.left}
	if len(c.outer) == 1 && c.outer[0] == "." {
		r.Kind, r.Skills = Single, c.skills[:1]
		return r, "", p.single(ctx, c, c.skills[0], to, nil, r)
	}
	return r, c.twice(), p.release(ctx, c, lock, to, r)
}

// Each publishes each skill of a library as an artifact in a repository of its own. at returns that
// repository for the name of the skill. near is a repository that may already have the blobs.
func (p *Publisher) Each(ctx context.Context, lib origin.Library, at func(name string) (Target, error), near *registry.Repository) (all []*Result, err error) {
	c, err := p.read(ctx, lib)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	named := map[string]string{}
	targets := make([]Target, len(c.skills))
	for i, s := range c.skills {
		name := nameOf(s, "")
		if other, ok := named[name]; ok {
			return nil, refuse("rename one of them", "the skills %s and %s are both called %s, so they would have one repository", display.Quote(other), display.Quote(s.Path), display.Quote(name))
		}
		named[name] = s.Path
		if targets[i], err = at(name); err != nil {
			return nil, fmt.Errorf("%s: %w", displayName(s.Path), err)
		}
	}
	for i, s := range c.skills {
		r := &Result{Kind: Single, Skills: []Skill{s}}
		if err := p.single(ctx, c, s, targets[i], near, r); err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

// packOf returns the pack of an outermost skill. The pack depends only on the skill's path, so a
// new skill moves no other skill.
func packOf(folder string, packs int) int {
	sum := sha256.Sum256([]byte(folder))
	return packs * int(binary.BigEndian.Uint16(sum[:2])) >> 16
}

// packsFor returns the number of packs of a library: the least power of two that keeps them small.
// If the last release's number is within a factor of 4, packsFor returns that number, since another
// number moves every skill.
func packsFor(size int64, before int) int {
	n := 1
	for n < maxPacks && int64(n)*packSize < size {
		n *= 2
	}
	if before > 0 && n <= 4*before && before <= 4*n {
		return before
	}
	return n
}

// release publishes a library.
func (p *Publisher) release(ctx context.Context, c *contents, lock map[string]lockfile.Skill, to Target, r *Result) error {
	last, err := p.last(ctx, to)
	if err != nil {
		return err
	}
	size := int64(0)
	for _, f := range c.files {
		size += 512 + (f.Size+511)/512*512
	}
	packs := packsFor(size, last.packs)
	parts := make([][]file, packs)
	at := map[string]int{} // the pack of each outermost skill
	for _, s := range c.outer {
		at[s] = packOf(s, packs)
	}
	for _, f := range c.files {
		n := at[outermost(at, f.path)]
		parts[n] = append(parts[n], f)
	}
	layers := []pack{{}} // the first is the index, which is made last
	layerOf := make([]int, packs)
	for n, files := range parts {
		if len(files) > 0 {
			layerOf[n] = len(layers)
			layers = append(layers, pack{title: fmt.Sprintf("skills-%02d.tar.gz", n), files: files})
		}
	}
	for i := range c.skills {
		c.skills[i].Layer = layerOf[at[outermost(at, c.skills[i].Path)]]
	}
	index, err := indexOf(c.skills, packs)
	if err != nil {
		return err
	}
	layers[0] = pack{title: "index.tar.gz", files: []file{{path: ".knack/index.json"}}, data: [][]byte{index}}
	if text := lockOf(c.skills, lock); text != nil {
		layers[0].files, layers[0].data = append(layers[0].files, file{path: lockfile.Name}), append(layers[0].data, text)
	}
	defer func() {
		for _, l := range layers {
			l.close()
		}
	}()
	if err := p.pack(ctx, c, layers, last, to); err != nil {
		return err
	}
	return p.pushRelease(ctx, layers, packs, to, r)
}

// outermost returns the skill that contains a path.
func outermost(folders map[string]int, at string) string {
	for folder := at; ; folder = path.Dir(folder) {
		if _, ok := folders[folder]; ok || folder == "." {
			return folder
		}
	}
}

// pushRelease sends the layers of a release.
func (p *Publisher) pushRelease(ctx context.Context, layers []pack, packs int, to Target, r *Result) error {
	c := config{Created: p.Created, Architecture: "amd64", OS: "linux", RootFS: rootFS{Type: "layers"}}
	m := registry.Manifest{Annotations: map[string]string{registry.ReleaseKey: "1", packsKey: strconv.Itoa(packs)}}
	p.describe(m.Annotations, to.Tags)
	var blobs []blob
	for i, l := range layers {
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, l.diff)
		d := registry.Descriptor{MediaType: layerType, Digest: l.digest, Size: l.size, Annotations: map[string]string{registry.TitleKey: l.title}}
		m.Layers = append(m.Layers, d)
		blobs = append(blobs, blob{d, fmt.Sprintf("layer %d of %d", i+1, len(layers)), l.spool, nil})
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	conf := small(configType, "the configuration", data)
	m.Config = &conf.Descriptor
	a, err := imageOf(m)
	if err != nil {
		return err
	}
	a.blobs = append(blobs, conf)
	return p.push(ctx, to, a, nil, r)
}

// describe adds the annotations that all artifacts may have: the version, if a tag is one, and the
// time.
func (p *Publisher) describe(annotations map[string]string, tags []string) {
	for _, tag := range tags {
		if _, ok := semver.Parse(tag); ok {
			annotations[registry.VersionKey] = strings.TrimPrefix(tag, "v")
			break
		}
	}
	if p.Created != "" {
		annotations[createdKey] = p.Created
	}
}

// pack is a layer under construction.
type pack struct {
	title string
	files []file
	data  [][]byte // the contents of the files, if not in the library's spool

	spool  origin.Spool // the bytes to send
	digest string
	size   int64
	diff   string // the digest of the tar
	plain  int64  // the size of the tar
}

func (l *pack) close() {
	if l.spool != nil {
		_ = l.spool.Close()
	}
}

// pack makes the layers, as many concurrently as there are processors.
func (p *Publisher) pack(ctx context.Context, c *contents, layers []pack, last last, to Target) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range layers {
		group.Go(func() error {
			l := &layers[i]
			if err := l.make(ctx, p, c); err != nil {
				return err
			}
			if l.size > registry.MaxLayer {
				return refuse("split the library, or make its files smaller", "a layer with %d files would have %d MiB, and at most %d can be installed", len(l.files), l.size>>20, registry.MaxLayer>>20)
			}
			if was, ok := last.layers[l.diff]; ok && was.Digest != l.digest {
				return l.takeOver(ctx, p, to.Repository, was)
			}
			return nil
		})
	}
	return group.Wait()
}

// make writes the layer as a gzipped tar into a spool.
func (l *pack) make(ctx context.Context, p *Publisher, c *contents) (err error) {
	if l.spool, err = p.Spool(); err != nil {
		return err
	}
	packed, plain := sha256.New(), sha256.New()
	out := &counter{to: io.MultiWriter(io.NewOffsetWriter(l.spool, 0), packed)}
	z, err := gzip.NewWriterLevel(out, gzip.DefaultCompression)
	if err != nil {
		return err
	}
	in := &counter{to: io.MultiWriter(z, plain)}
	w := archive.NewTar(in)
	for i, f := range l.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		content, size := io.Reader(nil), f.Size
		if l.data != nil {
			content, size = bytes.NewReader(l.data[i]), int64(len(l.data[i]))
		} else {
			content = io.NewSectionReader(c.spool, f.at, f.Size)
		}
		if err := w.Copy(f.path, f.Exec, size, content); err != nil {
			return err
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		return err
	}
	l.digest, l.size = skill.Digest(packed.Sum(nil)).String(), out.n
	l.diff, l.plain = skill.Digest(plain.Sum(nil)).String(), in.n
	return nil
}

// takeOver replaces a layer with the last release's layer that has the same content in another
// compression. Clients with that layer then need not fetch it again. The release may claim false
// digests, so the layer is fetched and compared.
func (l *pack) takeOver(ctx context.Context, p *Publisher, from *registry.Repository, was registry.Descriptor) error {
	spool, err := p.Spool()
	if err != nil {
		return err
	}
	if err := from.Fetch(ctx, was, "the layer "+was.Digest, spool, func(int64) {}); err != nil {
		return errors.Join(err, spool.Close())
	}
	plain := sha256.New()
	z, err := gzip.NewReader(io.NewSectionReader(spool, 0, was.Size))
	if err == nil {
		_, err = io.Copy(plain, io.LimitReader(z, l.plain+1))
	}
	if err != nil || skill.Digest(plain.Sum(nil)).String() != l.diff {
		return errors.Join(spool.Close(), ctx.Err())
	}
	l.close()
	l.spool, l.digest, l.size = spool, was.Digest, was.Size
	return nil
}

// counter counts the bytes written.
type counter struct {
	to io.Writer
	n  int64
}

// Write implements [io.Writer].
func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}

// indexOf returns the index of a release, which lists the layer of each skill. Clients that fetch
// only some skills read it.
func indexOf(skills []Skill, packs int) ([]byte, error) {
	type entry struct {
		Path        string `json:"path"`
		Name        string `json:"name,omitempty"`
		Description string `json:"description,omitempty"`
		Digest      string `json:"digest"`
		Layer       int    `json:"layer"`
	}
	list := make([]entry, len(skills))
	for i, s := range skills {
		list[i] = entry{s.Path, s.Name, s.Description, s.Digest.String(), s.Layer}
	}
	data, err := rawjson.Marshal(struct {
		Version int     `json:"version"`
		Packs   int     `json:"packs"`
		Skills  []entry `json:"skills"`
	}{1, packs, list})
	return append(data, '\n'), err
}

// lockOf returns the lock of a release, with the entries of the unmodified locked skills, or nil.
func lockOf(skills []Skill, lock map[string]lockfile.Skill) []byte {
	out := lockfile.Lock{Skills: map[string]lockfile.Skill{}}
	for _, s := range skills {
		if e, ok := lock[s.Path]; ok && e.Digest == s.Digest {
			e.Clients = nil // they are clients of this machine
			out.Skills[s.Path] = e
		}
	}
	if len(out.Skills) == 0 {
		return nil
	}
	return out.Bytes()
}
