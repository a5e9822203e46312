// Package git reads skills from repositories with the program git, which has the user's
// credentials, proxies and settings. It fetches one commit without its history, and only the
// needed files. It never checks files out, so no part of a repository can act: hooks, filters,
// submodules and links are only bytes.
package git

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/knack-dev/knack/internal/distribution/origin"
)

// Options configure an [Origin].
type Options struct {
	// Program is the path of git. If it is "", the system's search path is used.
	Program string
	// Env is the environment of the process, as NAME=VALUE. git gets it without variables that
	// point to another repository.
	Env []string
	// Dir returns the folder of the bare repository for a key. The folder need not exist yet. Later
	// calls use its contents again; deleting it is safe.
	Dir func(key string) (string, error)
	// Terminal allows git and ssh to ask for a password on the terminal.
	Terminal bool
	// Offline forbids requests to servers. Fetched objects can still be read.
	Offline bool
	// HTTP, if set, returns a client of internal/base/httpfetch for the server at an address. It
	// requests branches and tags in a hundredth of the time of a git run, and follows redirects.
	// git is used if its settings or the answer require it.
	HTTP func(address string) (*http.Client, error)
	// CheckTarget, if set, returns an error if a server that the user named must not redirect to an
	// address. Without it, git follows no redirect.
	CheckTarget func(ctx context.Context, named, to string) error
	// Progress, if set, is called while bytes arrive.
	Progress origin.Progress
	// Warn, if set, is called with warnings about installed skills. It may be called
	// concurrently.
	Warn func(text string)

	limit time.Duration // for a run of git that contacts a server; zero means an hour
}

// Origin reads repositories. It requests the branches and tags of each at most once, so it serves
// one command.
type Origin struct {
	opts     Options
	start    func() (*setup, error) // examines the program at the first call
	slots    chan struct{}          // for concurrent requests to repositories
	mu       sync.Mutex
	asked    map[string]*question   // by location
	occupied map[string]*sync.Mutex // by folder
}

var _ origin.Origin = (*Origin)(nil)

// mostAtOnce is the maximum number of concurrent requests to repositories.
const mostAtOnce = 16

// New returns an Origin without starting a program.
func New(o Options) *Origin {
	g := &Origin{
		opts: o, slots: make(chan struct{}, mostAtOnce),
		asked: map[string]*question{}, occupied: map[string]*sync.Mutex{},
	}
	if g.opts.Warn == nil {
		g.opts.Warn = func(string) {}
	}
	g.start = sync.OnceValues(g.look)
	return g
}

// question is a request to a repository, with the answer.
type question struct {
	first  sync.Once
	at     address // after redirects
	advert *refs   // nil if git must send the request
	no     error
	asked  bool // git has sent the request; said is its error
	said   error

	then sync.Once
	refs *refs
	err  error
}

// question sends the first request to a repository, unless it was sent before.
func (g *Origin) question(ctx context.Context, at address) *question {
	g.mu.Lock()
	q := g.asked[at.url]
	if q == nil {
		q = &question{at: at}
		g.asked[at.url] = q
	}
	g.mu.Unlock()
	q.first.Do(func() {
		q.no = g.inSlot(ctx, func() (err error) {
			if s, err := g.start(); err != nil || !strings.HasPrefix(at.url, "http") || g.direct(s, at) {
				q.at, q.advert, err = g.advertised(ctx, at)
				return err
			}
			q.asked = true
			q.at, q.advert, q.said, err = g.askFollowing(ctx, at)
			return err
		})
	})
	return q
}

// inSlot calls do as soon as fewer than mostAtOnce requests are running.
func (g *Origin) inSlot(ctx context.Context, do func() error) error {
	select {
	case g.slots <- struct{}{}:
		defer func() { <-g.slots }()
		return do()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// follow returns the address after redirects.
func (g *Origin) follow(ctx context.Context, at address) (address, error) {
	q := g.question(ctx, at)
	return q.at, q.no
}

// Resolve returns the commit that a reference names. A full commit hash needs no request.
func (g *Origin) Resolve(ctx context.Context, ref origin.Ref) (origin.Revision, error) {
	if isCommit(ref.Want) {
		return revision(strings.ToLower(ref.Want), ""), nil
	}
	r, err := g.refs(ctx, ref)
	if err != nil {
		return origin.Revision{}, err
	}
	return r.pick(ref.Source, ref.Want, ref.Sub)
}

// Versions returns the tags of a repository.
func (g *Origin) Versions(ctx context.Context, ref origin.Ref) ([]string, error) {
	r, err := g.refs(ctx, ref)
	if err != nil {
		return nil, err
	}
	return r.names(), nil
}

// refs requests the refs of a repository, or returns the answer to an earlier request.
func (g *Origin) refs(ctx context.Context, ref origin.Ref) (*refs, error) {
	at, err := locate(ref.Location)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref.Source, err)
	}
	if g.opts.Offline {
		return nil, fmt.Errorf("%s: %w", ref.Source, origin.ErrOffline)
	}
	q := g.question(ctx, at)
	if q.no != nil {
		return nil, fmt.Errorf("%s: %w", ref.Source, q.no)
	}
	q.then.Do(func() {
		if q.refs, q.err = q.advert, q.said; !q.asked && q.refs == nil {
			q.err = g.inSlot(ctx, func() (err error) {
				q.refs, err = g.ask(ctx, q.at)
				return err
			})
		}
	})
	if q.err != nil {
		return nil, fmt.Errorf("%s: %w", ref.Source, q.err)
	}
	return q.refs, nil
}

// ask runs git to request a server's refs.
func (g *Origin) ask(ctx context.Context, at address) (*refs, error) {
	r := newRefs()
	err := g.run(ctx, call{
		address: at, dir: noRepository,
		args:   []string{"ls-remote", "--quiet", "--", at.url},
		stdout: r.read,
	})
	return r, err
}

// Open fetches a commit without its files, unless the local repository has it.
func (g *Origin) Open(ctx context.Context, ref origin.Ref, at origin.Revision) (origin.Library, error) {
	where, err := locate(ref.Location)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref.Source, err)
	}
	if at.ID == "" {
		if at, err = g.Resolve(ctx, ref); err != nil {
			return nil, err
		}
	}
	commit, ok := strings.CutPrefix(at.ID, scheme)
	if !ok || !isCommit(commit) {
		return nil, fmt.Errorf("%s: %q is no commit of git", ref.Source, at.ID)
	}
	l := &library{git: g, ref: ref, address: where, revision: at, commit: commit}
	if err := l.open(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", ref.Source, err)
	}
	return l, nil
}

// occupy waits until no other call of this process fetches into a folder.
func (g *Origin) occupy(dir string) (leave func()) {
	g.mu.Lock()
	mu := g.occupied[dir]
	if mu == nil {
		mu = &sync.Mutex{}
		g.occupied[dir] = mu
	}
	g.mu.Unlock()
	mu.Lock()
	return mu.Unlock
}
