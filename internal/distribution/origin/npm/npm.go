// Package npm reads skills from packages of npm registries, without the program npm. The revision
// of a package is the integrity that the registry states, and the package's bytes are compared with
// it.
package npm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/origin/archive"
)

// maxMetadata is the maximum size of a package's metadata, in bytes. The largest metadata in the
// public registry has about 20 MiB.
const maxMetadata = 32 << 20

// Options are the settings of an [Origin].
type Options struct {
	Fetch *httpfetch.Fetcher
	Spool func() (origin.Spool, error)
	// Config returns the user's settings of npm.
	Config   func() (Config, error)
	Offline  bool            // forbids requests to servers
	Progress origin.Progress // or nil
}

// Origin reads packages.
type Origin struct{ o Options }

var _ origin.Origin = (*Origin)(nil)

// New returns an Origin. It connects to nothing.
func New(o Options) *Origin {
	return &Origin{o}
}

// metadata is the answer of a registry about a package.
type metadata struct {
	Tags     map[string]string  `json:"dist-tags"`
	Versions map[string]version `json:"versions"`
}

type version struct {
	Dist struct{ Tarball, Integrity string }
}

// registryPackage is a package at its registry.
type registryPackage struct {
	name   string
	at     *url.URL // of its metadata
	client *httpfetch.Client
	token  string // for the registry, or ""
}

func (p *Origin) locate(ref origin.Ref) (registryPackage, error) {
	rest := strings.TrimPrefix(ref.Location, "npm:")
	config, err := p.o.Config()
	if err != nil {
		return registryPackage{}, err
	}
	named := ""
	if i := strings.LastIndex(rest, "//"); i > 0 && strings.Contains(rest[:i], "://") {
		named, rest = rest[:i], rest[i+2:]
	}
	base := cmp.Or(named, config.registry(rest))
	u, err := url.Parse(strings.TrimRight(base, "/") + "/" + strings.ReplaceAll(rest, "/", "%2f"))
	if err != nil {
		return registryPackage{}, fmt.Errorf("the registry that npm is configured for is not an address")
	}
	c, err := p.o.Fetch.For(u.String())
	return registryPackage{rest, u, c, config.token(u)}, err
}

// get sends a request. The token is sent only to the registry's own host.
func (p *Origin) get(ctx context.Context, at registryPackage, u *url.URL, accept string) (*http.Response, error) {
	if p.o.Offline {
		return nil, origin.ErrOffline
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", accept)
	if at.token != "" && u.Scheme == at.at.Scheme && u.Host == at.at.Host {
		r.Header.Set("Authorization", "Bearer "+at.token)
	}
	resp, err := at.client.HTTP().Do(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", httpfetch.Shown(u), httpfetch.Plain(err))
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return resp, nil
	case http.StatusNotFound:
		err = fmt.Errorf("the registry %s has no such package", display.Echo(u.Host))
	case http.StatusUnauthorized, http.StatusForbidden:
		err = fmt.Errorf("the registry %s refuses access (%d): npm login writes a token into your .npmrc", display.Echo(u.Host), resp.StatusCode)
	default:
		err = fmt.Errorf("the registry %s answers %d %s", display.Echo(u.Host), resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	resp.Body.Close()
	return nil, err
}

// ask returns the registry's metadata of a package.
func (p *Origin) ask(ctx context.Context, ref origin.Ref) (at registryPackage, m metadata, err error) {
	if at, err = p.locate(ref); err != nil {
		return at, m, fmt.Errorf("%s: %w", ref.Source, err)
	}
	resp, err := p.get(ctx, at, at.at, "application/vnd.npm.install-v1+json, application/json")
	if err != nil {
		return at, m, fmt.Errorf("%s: %w", ref.Source, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata+1))
	switch {
	case err != nil:
		err = httpfetch.Plain(err)
	case len(data) > maxMetadata:
		err = fmt.Errorf("the registry's description of it is larger than %d MiB", maxMetadata>>20)
	default:
		if json.Unmarshal(data, &m) != nil || len(m.Versions) == 0 {
			err = errors.New("the registry's answer does not describe a package")
		}
	}
	if err != nil {
		return at, m, fmt.Errorf("%s: %w", ref.Source, err)
	}
	return at, m, nil
}

// pick returns the version that a reference names: a version, a tag, or latest.
func (m metadata) pick(want string) (string, error) {
	want = cmp.Or(want, "latest")
	if _, ok := m.Versions[want]; ok {
		return want, nil
	}
	if v := m.Tags[want]; v != "" {
		if _, ok := m.Versions[v]; ok {
			return v, nil
		}
	}
	return "", &origin.Gone{Message: fmt.Sprintf("the package has no version or tag %s", display.Quote(want))}
}

func (m metadata) revision(v string) (origin.Revision, error) {
	integrity := strongest(m.Versions[v].Dist.Integrity)
	if integrity == "" {
		return origin.Revision{}, fmt.Errorf("the registry names no integrity (sha512) of version %s, so its bytes cannot be checked", display.Quote(v))
	}
	return origin.Revision{ID: "npm:" + integrity, Version: v}, nil
}

// Resolve asks the registry which version a reference names.
func (p *Origin) Resolve(ctx context.Context, ref origin.Ref) (origin.Revision, error) {
	_, m, err := p.ask(ctx, ref)
	if err != nil {
		return origin.Revision{}, err
	}
	v, err := m.pick(ref.Want)
	var at origin.Revision
	if err == nil {
		at, err = m.revision(v)
	}
	if err != nil {
		return origin.Revision{}, fmt.Errorf("%s: %w", ref.Source, err)
	}
	return at, nil
}

// Versions returns the versions of the package.
func (p *Origin) Versions(ctx context.Context, ref origin.Ref) ([]string, error) {
	_, m, err := p.ask(ctx, ref)
	return slices.Sorted(maps.Keys(m.Versions)), err
}

// Open fetches a package, and compares its bytes with the integrity.
func (p *Origin) Open(ctx context.Context, ref origin.Ref, at origin.Revision) (origin.Library, error) {
	where, m, err := p.ask(ctx, ref)
	if err != nil {
		return nil, err
	}
	l, err := p.open(ctx, ref, where, m, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref.Source, err)
	}
	return l, nil
}

func (p *Origin) open(ctx context.Context, ref origin.Ref, where registryPackage, m metadata, at origin.Revision) (origin.Library, error) {
	v, err := "", error(nil)
	if at.ID == "" {
		v, err = m.pick(ref.Want)
	} else {
		for name, one := range m.Versions {
			if "npm:"+strongest(one.Dist.Integrity) == at.ID {
				v = name
			}
		}
		if v == "" {
			err = &origin.Gone{Message: "the registry no longer has the locked version"}
		}
	}
	if err != nil {
		return nil, err
	}
	if at, err = m.revision(v); err != nil {
		return nil, err
	}
	u, err := url.Parse(m.Versions[v].Dist.Tarball)
	if err != nil {
		return nil, errors.New("the registry names no address of the package's archive")
	}
	resp, err := p.get(ctx, where, u, "*/*")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	integrity := strings.TrimPrefix(at.ID, "npm:")
	sum := hashes[algorithm(integrity)]()
	l := &library{where: ref.Source, at: at, progress: p.o.Progress}
	if l.spool, l.size, _, err = archive.Copy(io.TeeReader(resp.Body, sum), resp.ContentLength, archive.MaxRemote, p.o.Spool, func(done int64) { p.o.Progress.Report(origin.Bytes, done, max(resp.ContentLength, 0)) }); err != nil {
		return nil, httpfetch.Plain(err)
	}
	if got := algorithm(integrity) + "-" + base64.StdEncoding.EncodeToString(sum.Sum(nil)); got != integrity {
		l.spool.Close()
		return nil, fmt.Errorf("the archive of version %s does not have the integrity that the registry names: nothing of it is used", display.Quote(v))
	}
	return l, nil
}

// algorithms lists the hash algorithms of an integrity, the strongest last. hashes has their
// functions.
var (
	algorithms = []string{"sha256", "sha384", "sha512"}
	hashes     = map[string]func() hash.Hash{"sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New}
)

func algorithm(integrity string) string {
	name, _, _ := strings.Cut(integrity, "-")
	return name
}

// strongest returns the part of an integrity with the strongest algorithm, or "".
func strongest(integrity string) (best string) {
	rank := -1
	for part := range strings.FieldsSeq(integrity) {
		part, _, _ = strings.Cut(part, "?")
		_, sum, _ := strings.Cut(part, "-")
		i := slices.Index(algorithms, algorithm(part))
		if data, err := base64.StdEncoding.DecodeString(sum); err == nil && i > rank && len(data) == hashes[algorithm(part)]().Size() {
			best, rank = part, i
		}
	}
	return best
}

// library is a package that was fetched.
type library struct {
	where    string
	at       origin.Revision
	progress origin.Progress
	spool    origin.Spool
	size     int64
}

func (l *library) Revision() origin.Revision { return l.at }

func (l *library) Close() error { return l.spool.Close() }

// Skills finds the skills of the package.
func (l *library) Skills(ctx context.Context) ([]origin.Skill, error) {
	skills, err := archive.Skills(ctx, l.spool, l.size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.where, err)
	}
	return skills, nil
}

// Fetch sends the files of the skills.
func (l *library) Fetch(ctx context.Context, skills []origin.Skill, to origin.Sink) error {
	l.progress.Report(origin.Bytes, l.size, l.size)
	if err := archive.Send(ctx, l.spool, l.size, skills, to); err != nil {
		return fmt.Errorf("%s: %w", l.where, err)
	}
	return nil
}
