// Package wellknown reads the skills that a site offers in its index,
// /.well-known/agent-skills/index.json of version 0.2.0, or /.well-known/skills/index.json of
// version 0.1.0. In version 0.2.0 every skill has a digest, and only bytes with this digest are
// accepted.
package wellknown

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	packed "github.com/knack-dev/knack/internal/distribution/archive"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/origin/archive"
	"github.com/knack-dev/knack/skill"
)

// maxArchive bounds the archive of one skill, in bytes.
const maxArchive = 64 << 20

// Options are the settings of an [Origin].
type Options struct {
	Fetch *httpfetch.Fetcher
	// Spool returns a file for the bytes of an archive.
	Spool func() (origin.Spool, error)
	// Offline forbids requests to servers.
	Offline bool
	// Progress, if not nil, is called while bytes arrive.
	Progress origin.Progress
}

// Origin reads indexes. The zero value cannot be used.
type Origin struct{ options Options }

var _ origin.Origin = (*Origin)(nil)

// New returns an Origin. It connects to nothing.
func New(o Options) *Origin {
	return &Origin{o}
}

// Resolve reads the index. Its digests cover all bytes, so the revision is the SHA-256 over them;
// see [index.revision]. An index of version 0.1.0 has no digests and thus no revision.
func (o *Origin) Resolve(ctx context.Context, ref origin.Ref) (origin.Revision, error) {
	l, err := o.open(ctx, ref)
	if err != nil {
		return origin.Revision{}, err
	}
	return l.revision, nil
}

// Versions returns nil, since an index has only one state.
func (o *Origin) Versions(context.Context, origin.Ref) ([]string, error) { return nil, nil }

// Open reads the present index. A site has no older indexes, so the library has the revision of the
// present index.
func (o *Origin) Open(ctx context.Context, ref origin.Ref, _ origin.Revision) (origin.Library, error) {
	l, err := o.open(ctx, ref)
	if err != nil {
		return nil, err // no typed nil
	}
	return l, nil
}

// paths are the possible paths of an index, the newest form first.
var paths = []string{".well-known/agent-skills/index.json", ".well-known/skills/index.json"}

func (o *Origin) open(ctx context.Context, ref origin.Ref) (*library, error) {
	if o.options.Offline {
		return nil, fmt.Errorf("%s: %w", ref.Source, origin.ErrOffline)
	}
	c, err := o.options.Fetch.For(ref.Location)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref.Source, err)
	}
	site, err := url.Parse(ref.Location)
	if err != nil {
		return nil, fmt.Errorf("%s: the address cannot be read", ref.Source)
	}
	for _, path := range paths {
		l, err := o.read(ctx, c, ref, site.JoinPath(path))
		var status *httpfetch.StatusError
		switch {
		case errors.As(err, &status) && (status.Status == http.StatusNotFound || status.Status == http.StatusGone), errors.Is(err, errNotIndex):
			continue // some sites answer each address with a page
		case err != nil:
			return nil, err
		}
		return l, nil
	}
	return nil, fmt.Errorf("%s offers no skills: it has neither /%s nor /%s. An archive needs its whole address, a repository .git at its end, an MCP server mcp: before it", ref.Source, paths[0], paths[1])
}

func (o *Origin) read(ctx context.Context, c *httpfetch.Client, ref origin.Ref, at *url.URL) (*library, error) {
	a, err := c.Get(ctx, at)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	counted := &io.LimitedReader{R: a.Body, N: maxIndex + 1}
	x, err := parse(counted, a.URL)
	if err == nil {
		_, err = io.Copy(io.Discard, counted)
	}
	if counted.N == 0 {
		err = fmt.Errorf("it is larger than %d MiB", maxIndex>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the index of the site cannot be used: %w", httpfetch.Shown(at), httpfetch.Plain(err))
	}
	l := &library{options: o.options, client: c, where: ref.Source, index: x}
	if x.signed {
		l.revision.ID = "http:" + x.revision()
	}
	return l, nil
}

// library is an index, whose skills are fetched one by one.
type library struct {
	options  Options
	client   *httpfetch.Client
	where    string
	index    *index
	revision origin.Revision
}

func (l *library) Revision() origin.Revision { return l.revision }

func (l *library) Close() error { return nil }

// Separate implements [origin.Separate].
func (l *library) Separate() {}

// outage returns the error of a request as an [origin.Outage], unless the site lacks the file.
func outage(err error) error {
	if status, ok := errors.AsType[*httpfetch.StatusError](err); ok && (status.Status == http.StatusNotFound || status.Status == http.StatusGone) {
		return err
	}
	return &origin.Outage{Err: err}
}

// Skills returns the skills of the index. Their files are not fetched.
func (l *library) Skills(context.Context) ([]origin.Skill, error) {
	skills := make([]origin.Skill, 0, len(l.index.entries))
	for i := range l.index.entries {
		e := &l.index.entries[i]
		if l.index.named[e.Name] != i {
			continue // another entry with this name; the first has a fault
		}
		skills = append(skills, origin.Skill{Path: e.Name, Name: e.Name, Description: e.Description, Main: skill.MainFile, Fault: l.index.fault(e)})
	}
	origin.SortSkills(skills)
	return skills, nil
}

// Fetch requests the skills, one after the other.
func (l *library) Fetch(ctx context.Context, skills []origin.Skill, to origin.Sink) error {
	for i, s := range skills {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.options.Progress.Report(origin.Skills, int64(i), int64(len(skills)))
		at, ok := l.index.named[s.Path]
		switch {
		case s.Fault != nil:
			to.Fail(s.Path, s.Fault)
			continue
		case !ok:
			to.Fail(s.Path, errors.New("the index has no such skill"))
			continue
		}
		if err := l.fetch(ctx, &l.index.entries[at], to); err != nil {
			if ctx.Err() != nil {
				return err
			}
			to.Fail(s.Path, err)
		}
	}
	return nil
}

func (l *library) fetch(ctx context.Context, e *entry, to origin.Sink) error {
	if err := l.index.fault(e); err != nil {
		return err
	}
	switch {
	case !l.index.signed:
		return l.files(ctx, e, to)
	case e.Type == "skill-md":
		data, err := l.get(ctx, e.at, skill.MaxSkillMD)
		if err != nil {
			return err
		}
		if skill.DigestOf(data) != e.sum {
			return l.otherBytes(e.at)
		}
		_ = to.File(e.Name, origin.File{Path: skill.MainFile, Size: int64(len(data))}, bytes.NewReader(data))
		return nil
	}
	return l.archive(ctx, e, to)
}

func (l *library) otherBytes(at *url.URL) error {
	return fmt.Errorf("%s has other bytes than the index says. The site may be changing: try again, and tell its owner if it stays so", httpfetch.Shown(at))
}

// get requests a file of at most limit bytes.
func (l *library) get(ctx context.Context, at *url.URL, limit int64) ([]byte, error) {
	a, err := l.client.Get(ctx, at)
	if err != nil {
		return nil, outage(err)
	}
	defer a.Body.Close()
	data, err := io.ReadAll(io.LimitReader(a.Body, limit+1))
	if err != nil {
		return nil, outage(fmt.Errorf("%s: %w", httpfetch.Shown(at), httpfetch.Plain(err)))
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is larger than %s bytes", httpfetch.Shown(at), display.Thousands(int(limit)))
	}
	return data, nil
}

// files requests each file that an index of version 0.1.0 lists.
func (l *library) files(ctx context.Context, e *entry, to origin.Sink) error {
	files, err := e.files()
	if err != nil {
		return err
	}
	left := int64(origin.MaxSize)
	for _, f := range files {
		at := &url.URL{Scheme: e.at.Scheme, Host: e.at.Host, Path: e.at.Path + "/" + f.Path}
		a, err := l.client.Get(ctx, at)
		if err != nil {
			return outage(err)
		}
		body := &limited{in: a.Body, left: &left, sum: sha256.New()}
		err = to.File(e.Name, origin.File{Path: f.Path, Size: a.Size}, body)
		a.Body.Close()
		if body.err != nil {
			return body.reason(at)
		}
		if err != nil {
			return nil // the sink has refused the skill
		}
		if want, err := skill.ParseDigest(f.Digest); err == nil && skill.Digest(body.sum.Sum(nil)) != want {
			return l.otherBytes(at)
		}
	}
	return nil
}

// archive fetches the archive of a skill. It reads the archive only after verifying its digest.
func (l *library) archive(ctx context.Context, e *entry, to origin.Sink) error {
	a, err := l.client.Get(ctx, e.at)
	if err != nil {
		return outage(err)
	}
	defer a.Body.Close()
	spool, err := l.options.Spool()
	if err != nil {
		return err
	}
	defer spool.Close()
	left := int64(maxArchive)
	body := &limited{in: a.Body, left: &left, sum: sha256.New()}
	size, err := io.Copy(spool, body)
	if body.err != nil {
		return body.reason(e.at)
	}
	if err != nil {
		return &origin.Outage{Err: err} // an error of the disk
	}
	if skill.Digest(body.sum.Sum(nil)) != e.sum {
		return l.otherBytes(e.at)
	}
	if err := unpack(ctx, spool, size, e.Name, to); err != nil {
		return fmt.Errorf("%s: %w", httpfetch.Shown(e.at), err)
	}
	return nil
}

// unpack sends the files of the skill that has its SKILL.md at the archive's top.
func unpack(ctx context.Context, r io.ReaderAt, size int64, name string, to origin.Sink) error {
	var entries []origin.Node
	err := packed.Walk(ctx, r, size, func(e origin.Node, _ io.Reader) error {
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return fmt.Errorf("the archive is refused: %w", err)
	}
	found := origin.Find(entries, "")
	switch {
	case len(found) == 0 || found[0].Path != ".":
		return fmt.Errorf("the archive has no %s at its top", skill.MainFile)
	case found[0].Fault != nil:
		return found[0].Fault
	}
	return archive.Send(ctx, r, size, found[:1], named{to, name})
}

// named is a sink that passes on the files of one skill under another path.
type named struct {
	origin.Sink
	name string
}

func (n named) File(_ string, f origin.File, content io.Reader) error {
	return n.Sink.File(n.name, f, content)
}

func (n named) Fail(_ string, err error) { n.Sink.Fail(n.name, err) }

// limited reads from a server until a limit, which several files may share.
type limited struct {
	in   io.Reader
	left *int64
	sum  interface {
		io.Writer
		Sum([]byte) []byte
	}
	err error
}

// reason returns the error of a read: that the limit was exceeded, or an [origin.Outage].
func (l *limited) reason(at *url.URL) error {
	err := fmt.Errorf("%s: %w", httpfetch.Shown(at), httpfetch.Plain(l.err))
	if *l.left < 0 {
		return err
	}
	return &origin.Outage{Err: err}
}

func (l *limited) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.in.Read(p)
	l.sum.Write(p[:n])
	if *l.left -= int64(n); *l.left < 0 {
		err = origin.TooLarge()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		l.err = err
	}
	return n, err
}
