// Package archive reads the skills of a zip or a tar.gz, from a disk or over https. The archive is
// copied before it is read, so that all reads see one state. Its revision is the SHA-256 of these
// bytes.
package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/base/realpath"
	packed "github.com/knack-dev/knack/internal/distribution/archive"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Limits of the packed bytes of an archive.
const (
	MaxRemote = 64 << 20
	MaxLocal  = packed.MaxUnpacked
)

// Options are the settings of an [Origin].
type Options struct {
	Fetch *httpfetch.Fetcher
	// Spool returns a file for the bytes of an archive.
	Spool func() (origin.Spool, error)
	// Offline forbids requests to servers. Archives on a disk are still readable.
	Offline bool
	// Progress, if not nil, is called while bytes arrive.
	Progress origin.Progress
	// Shown formats the path of an archive on a disk for people. If nil, the path stays unchanged.
	Shown func(path string) string
}

// Origin reads archives. The zero value cannot be used.
type Origin struct{ options Options }

var _ origin.Origin = (*Origin)(nil)

// New returns an Origin. It connects to nothing.
func New(o Options) *Origin {
	return &Origin{o}
}

// Resolve reads the archive to learn its digest. Only the bytes of the whole archive show whether
// it has changed.
func (o *Origin) Resolve(ctx context.Context, ref origin.Ref) (origin.Revision, error) {
	l, err := o.Open(ctx, ref, origin.Revision{})
	if err != nil {
		return origin.Revision{}, err
	}
	return l.Revision(), l.Close()
}

// Versions returns nil, since an archive has only one state.
func (o *Origin) Versions(context.Context, origin.Ref) ([]string, error) { return nil, nil }

// Open copies the present archive. If the archive has changed, the library's revision differs from
// the requested one. The skills may still be the same, since some servers pack the same files into
// other bytes from time to time.
func (o *Origin) Open(ctx context.Context, ref origin.Ref, _ origin.Revision) (origin.Library, error) {
	in, size, limit, err := o.reader(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	l := &library{where: ref.Source, progress: o.options.Progress}
	if l.spool, l.size, l.sum, err = Copy(in, size, limit, o.options.Spool, func(done int64) { o.options.Progress.Report(origin.Bytes, done, max(size, 0)) }); err != nil {
		return nil, fmt.Errorf("%s: %w", ref.Source, httpfetch.Plain(err))
	}
	return l, nil
}

// reader opens the archive. Errors name the archive.
func (o *Origin) reader(ctx context.Context, ref origin.Ref) (in io.ReadCloser, size, limit int64, err error) {
	u, err := url.Parse(ref.Location)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		in, size, err = o.file(ref.Location)
		return in, size, MaxLocal, err
	}
	if o.options.Offline {
		return nil, 0, 0, fmt.Errorf("%s: %w", ref.Source, origin.ErrOffline)
	}
	c, err := o.options.Fetch.For(ref.Location)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("%s: %w", ref.Source, err)
	}
	a, err := c.Get(ctx, u)
	if err != nil {
		return nil, 0, 0, err
	}
	return a.Body, a.Size, MaxRemote, nil
}

// file opens an archive on the disk. It follows links, since the user named the path.
func (o *Origin) file(path string) (io.ReadCloser, int64, error) {
	label := path
	if o.options.Shown != nil {
		label = o.options.Shown(path)
	}
	real, err := realpath.Eval(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("there is no file %s", display.Quote(label))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s cannot be read: %s", display.Quote(label), skill.Reason(err))
	}
	tree, err := dir.OpenTree(filepath.Dir(real), false)
	if err != nil {
		return nil, 0, fmt.Errorf("the folder of %s cannot be read: %s", display.Quote(label), skill.Reason(err))
	}
	defer tree.Close()
	f, err := tree.Open(filepath.Base(real))
	if err != nil {
		return nil, 0, fmt.Errorf("%s cannot be read: %s", display.Quote(label), skill.Reason(err))
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// Copy copies at most limit bytes into a spool, and returns their number and SHA-256. size is the
// announced number, or -1. If another number arrives, Copy returns an error: the source was cut off
// or changed meanwhile.
func Copy(in io.Reader, size, limit int64, open func() (origin.Spool, error), progress func(done int64)) (_ origin.Spool, n int64, sum [32]byte, err error) {
	over := fmt.Errorf("it is larger than %s MiB", display.Thousands(int(limit>>20)))
	if size > limit {
		return nil, 0, sum, over
	}
	spool, err := open()
	if err != nil {
		return nil, 0, sum, err
	}
	h := sha256.New()
	n, err = io.Copy(io.MultiWriter(spool, h, &meter{report: progress}), io.LimitReader(in, limit+1))
	switch {
	case err == nil && n > limit:
		err = over
	case err == nil && size >= 0 && n != size:
		err = fmt.Errorf("%s bytes have arrived, and %s were announced: try again", display.Thousands(int(n)), display.Thousands(int(size)))
	}
	if err != nil {
		spool.Close()
		return nil, 0, sum, err
	}
	h.Sum(sum[:0])
	return spool, n, sum, nil
}

// meter reports how many bytes have passed, once per MiB.
type meter struct {
	n, told int64
	report  func(int64)
}

func (m *meter) Write(p []byte) (int, error) {
	if m.n += int64(len(p)); m.report != nil && m.n-m.told >= 1<<20 {
		m.told = m.n
		m.report(m.n)
	}
	return len(p), nil
}

// library is an archive that was copied.
type library struct {
	where    string
	progress origin.Progress
	spool    origin.Spool
	size     int64
	sum      [32]byte
}

func (l *library) Revision() origin.Revision {
	return origin.Revision{ID: "http:" + hex.EncodeToString(l.sum[:])}
}

func (l *library) Close() error { return l.spool.Close() }

// Skills finds the skills, with the names and descriptions of their main files.
func (l *library) Skills(ctx context.Context) ([]origin.Skill, error) {
	skills, err := Skills(ctx, l.spool, l.size)
	if err != nil {
		return nil, l.failed(err)
	}
	if len(skills) == 0 {
		return nil, fmt.Errorf("%s: there is no skill in the archive: no folder has a SKILL.md", l.where)
	}
	return skills, nil
}

func (l *library) failed(err error) error {
	if errors.Is(err, packed.ErrRefused) {
		return fmt.Errorf("%s: the archive is refused: %w", l.where, err)
	}
	return fmt.Errorf("%s: %w", l.where, err)
}

// ReadFile implements [origin.Reader].
func (l *library) ReadFile(ctx context.Context, path string, most int64) ([]byte, error) {
	return ReadFile(ctx, l.spool, l.size, path, most)
}

// ReadFile reads a regular file of an archive, as [origin.Reader] defines it.
func ReadFile(ctx context.Context, r io.ReaderAt, size int64, path string, most int64) (data []byte, err error) {
	found := false
	err = packed.Walk(ctx, r, size, func(e origin.Node, content io.Reader) (err error) {
		if e.Path == path && e.Type.IsFile() {
			found = true
			data, err = io.ReadAll(io.LimitReader(content, most+1))
		}
		return err
	})
	if err == nil && !found {
		err = fs.ErrNotExist
	}
	return data, err
}

// maxTexts is the maximum size of an archive's names and descriptions in memory, in bytes.
const maxTexts = 16 << 20

// Skills finds the skills of an archive.
func Skills(ctx context.Context, r io.ReaderAt, size int64) ([]origin.Skill, error) {
	var entries []origin.Node
	described := map[string]origin.Skill{} // by main file
	texts := 0
	err := packed.Walk(ctx, r, size, func(e origin.Node, content io.Reader) error {
		entries = append(entries, e)
		name := e.Path[strings.LastIndexByte(e.Path, '/')+1:]
		if !skill.IsEntryNameInAnyCase(name) || !e.Type.IsFile() || texts > maxTexts {
			return nil
		}
		data, err := io.ReadAll(io.LimitReader(content, skill.MaxSkillMD+1))
		if err != nil {
			return err
		}
		s := origin.Skill{Path: ".", Main: name}
		origin.Describe(&s, data)
		texts += len(s.Name) + len(s.Description)
		described[e.Path] = s
		return nil
	})
	if err != nil {
		return nil, err
	}
	skills := origin.Find(entries, "")
	return skills, Describe(ctx, skills, described, func(visit func(origin.Node, io.Reader) error) error { return packed.Walk(ctx, r, size, visit) })
}

// Describe sets the names and descriptions of skills. read has the main files that were read, by
// path. If a main file is a link to another file, Describe reads that file in another walk.
func Describe(ctx context.Context, skills []origin.Skill, read map[string]origin.Skill, walk func(func(origin.Node, io.Reader) error) error) error {
	linked := map[string][]*origin.Skill{} // by the target of their main file
	for i := range skills {
		s := &skills[i]
		text, known := read[s.At(s.Main)]
		if s.Name, s.Description = text.Name, text.Description; !known && s.Fault == nil {
			linked[s.At(s.Main)] = append(linked[s.At(s.Main)], s)
		}
	}
	if len(linked) == 0 {
		return ctx.Err()
	}
	return walk(func(e origin.Node, content io.Reader) error {
		if len(linked[e.Path]) == 0 || !e.Type.IsFile() {
			return nil
		}
		data, err := io.ReadAll(io.LimitReader(content, skill.MaxSkillMD+1))
		if err != nil {
			return err
		}
		for _, s := range linked[e.Path] {
			read := origin.Skill{Path: ".", Main: s.Main}
			origin.Describe(&read, data)
			s.Name, s.Description = read.Name, read.Description
		}
		return nil
	})
}

// Fetch sends the files of the skills.
func (l *library) Fetch(ctx context.Context, skills []origin.Skill, to origin.Sink) error {
	l.progress.Report(origin.Bytes, l.size, l.size)
	if err := Send(ctx, l.spool, l.size, skills, to); err != nil {
		return l.failed(err)
	}
	return nil
}

// Send sends the files of skills of an archive. It reads the archive once, and once more for each
// further copy of a large file.
func Send(ctx context.Context, r io.ReaderAt, size int64, skills []origin.Skill, to origin.Sink) error {
	chosen := origin.SelectSound(skills, to)
	refused := map[string]bool{}
	give := func(holder, path string, e origin.Node, content io.Reader) {
		if !refused[holder] {
			refused[holder] = to.File(holder, origin.File{Path: path, Exec: e.Type == origin.Exec, Size: e.Size}, content) != nil
		}
	}
	for level, more := 0, len(chosen) > 0; more; level++ {
		more = false
		err := packed.Walk(ctx, r, size, func(e origin.Node, content io.Reader) error {
			if !e.Type.IsFile() {
				return nil
			}
			var holders [][2]string
			for holder, path := range chosen.Holders(e.Path) {
				holders = append(holders, [2]string{holder, path})
			}
			switch {
			case len(holders) > 1 && e.Size <= maxHeld:
				if level > 0 {
					return nil
				}
				data, err := io.ReadAll(content)
				for _, h := range holders {
					give(h[0], h[1], e, bytes.NewReader(data))
				}
				return err
			case level < len(holders):
				give(holders[level][0], holders[level][1], e, content)
			}
			more = more || level+1 < len(holders)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// maxHeld is the maximum size, in bytes, of a file with several copies that is kept in memory. For
// larger files the archive is read again.
const maxHeld = 1 << 20
