// Package replica makes a server follow sources. It opens the store, and connects the parts that
// poll the sources, fetch their releases, and serve them.
package replica

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/follow"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/distribution/release"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/origins"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

// Label is the label of the source that the flag --source names.
const Label = "source"

// Options are a server's settings about its sources.
type Options struct {
	Env    console.Env
	Files  *settings.Finder // name the store and the trusted keys
	File   *settings.File   // names the sources; nil if a flag names the source
	Own    bool             // the sources come after the well-known folders, and no list waits for them
	Flag   string           // --source, or "": the sources come from the file
	Prefix bool             // there are other roots besides the source of the flag
	// Excluded returns the setting that removes a root from all lists, or "".
	Excluded func(r skill.Root) string
	Log      *slog.Logger
	Event    func(follow.Event) // an event of a source
}

// Replica manages the sources that a server follows. A nil Replica has no sources.
type Replica struct {
	group   follow.Group
	sources []*release.Source
	listen  []func(ctx context.Context) // each listens to one source, until the context ends
	store   *store.Store
	lacks   []func() error       // for each source, a function that returns why its credentials cannot be sent
	servers []*httpfetch.Fetcher // one for each source, since their credentials differ
	end     context.CancelFunc
	ended   sync.WaitGroup
}

// Open prepares the sources that a flag or a file names. It returns nil if there are none. It
// makes no request, and writes nothing.
func Open(o Options) (*Replica, error) {
	sources, err := o.sources()
	if err != nil || len(sources) == 0 {
		return nil, err
	}
	offline, err := origins.Offline(&o.Env)
	if err != nil {
		return nil, err
	}
	rules, err := o.Files.Trust()
	if err != nil {
		return nil, err
	}
	shelf, err := origins.OpenStore(&o.Env, o.Files, nil)
	if err != nil {
		return nil, err
	}
	env := o.Env
	env.StdinTerminal, env.StderrTerminal = false, false // a server cannot ask a person for a password
	r := &Replica{store: shelf}
	host, _ := os.Hostname()
	var given config.Config
	every := config.DefaultPoll
	if o.Own {
		every = config.DefaultOwnPoll
	}
	if o.File != nil {
		given = o.File.Config
	}
	for i, s := range sources {
		rule, _ := rules.Rule(s.Ref.Source)
		var f *follow.Follower
		web := httpfetch.Options{Proxy: env.Proxy, Agent: "knack"}
		var sent secrets
		lacks := func() error { return nil }
		if web.Login = NoLogin; o.Flag == "" {
			c := o.credentials(o.File.Config.Sources[i], s.Ref, &sent)
			web.Credentials, web.Login, lacks = c.headers, c.hint, c.lacks
		}
		r.lacks = append(r.lacks, lacks)
		fetch := httpfetch.New(web)
		r.servers = append(r.servers, fetch)
		puller := &pull.Puller{
			Store: shelf, Trust: rules, Clean: sent.hide,
			Origins: origins.New(origins.Options{
				Env: &env, Store: shelf, Progress: func(origin.Unit, int64, int64) {}, Offline: offline, Fetch: fetch, Login: web.Login,
				Warn: onceEach(func(text string) { o.Log.Warn(sent.hide(text)) }),
			}),
		}
		from := release.New(release.Options{Root: o.root(s.Name), Store: shelf, Damaged: func(d skill.Digest, path string) { f.Damaged(d, path) }})
		f = follow.New(s, follow.Options{
			Puller: newFirst(puller, &o.Env, s.Name), Store: shelf, Every: cmp.Or(given.Poll, every), Host: host,
			Serve: from.Set, Lack: from.Lack, Alone: o.Own, Clean: sent.hide, Admit: admit(rules, s.Ref), Trusts: rule.Trusts, Event: o.Event, Now: time.Now, Random: rand.Float64, Log: o.Log,
		})
		r.group, r.sources = append(r.group, f), append(r.sources, from)
		if s.Ref.Kind == origin.MCP && !offline {
			r.listen = append(r.listen, func(ctx context.Context) { listen(ctx, puller, s.Ref, f.Changed) })
		}
	}
	return r, nil
}

// maxWarnings limits the warnings about one source.
const maxWarnings = 100

// onceEach returns a function that calls warn once for each text, and for at most maxWarnings texts. A
// source is polled again and again, and may be hostile.
func onceEach(warn func(text string)) func(text string) {
	var mu sync.Mutex
	seen := map[string]bool{}
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if len(seen) < maxWarnings && !seen[text] {
			seen[text] = true
			warn(text)
		}
	}
}

// sources returns the sources to follow.
func (o Options) sources() (all []follow.Source, err error) {
	if o.Flag != "" {
		ref, err := origin.ParseTyped(o.Flag, o.Env.Dir, o.Env.Home)
		if bad := (*origin.RefError)(nil); errors.As(err, &bad) {
			return nil, settings.UsageError(bad.Fix, "--source: %s", bad.Message)
		}
		return []follow.Source{{Name: Label, Ref: ref}}, err
	}
	if o.File == nil {
		return nil, nil
	}
	for _, s := range o.File.Config.Sources {
		ref, err := origin.Parse(s.From.Text, filepath.Dir(o.File.Path), o.Env.Home)
		if err != nil { // only if the home folder is not known
			return nil, settings.UsageError("write the source in another way", "%s:%s: %w", o.File.Shown, s.From.Position, err)
		}
		all = append(all, follow.Source{Name: s.Name.Text, Ref: ref, ForwardOnly: s.ForwardOnly, MinVersion: s.MinVersion})
	}
	return all, nil
}

// root returns the root of a source. If a file names the source, the URIs of its skills begin with
// its label, as for a root that a file names.
func (o Options) root(name string) skill.Root {
	r := skill.Root{Label: name, Prefix: name, Scope: skill.ScopeProject, Remote: true}
	if o.Own {
		r.Scope = skill.ScopeGlobal
	}
	r.UnlistedBy = o.Excluded(r)
	r.Unlisted = r.UnlistedBy != ""
	if o.Flag == "" {
		r.Publisher = &skill.Publisher{}
	} else if !o.Prefix {
		r.Prefix = ""
	}
	return r
}

// admit returns a function that refuses a stored release with a signer that the rules do not
// accept.
func admit(rules trust.Rules, ref origin.Ref) func(store.Release) error {
	return func(r store.Release) error { return rules.Locked(ref.Source, r.Signer) }
}

// Sources returns the sources for a catalogue.
func (r *Replica) Sources() (all []catalog.Source) {
	if r == nil {
		return nil
	}
	for _, s := range r.sources {
		all = append(all, s)
	}
	return all
}

// Start serves the stored releases, and follows the sources, until Close.
func (r *Replica) Start() {
	if r == nil {
		return
	}
	ctx, end := context.WithCancel(context.Background())
	r.end = end
	r.ended.Go(func() { r.group.Run(ctx) })
	for _, listen := range r.listen {
		r.ended.Go(func() { listen(ctx) })
	}
}

// Close ends everything, including a running pull. The received parts stay in the store.
func (r *Replica) Close() {
	if r == nil {
		return
	}
	if r.end != nil {
		r.end()
		r.ended.Wait()
	}
	for _, s := range r.servers {
		s.Close()
	}
	r.store.Close()
}

// Ask makes the server poll its sources immediately.
func (r *Replica) Ask() {
	if r != nil {
		r.group.Ask()
	}
}

// Status returns the states of the sources, or nil without any.
func (r *Replica) Status() []follow.Status {
	if r == nil {
		return nil
	}
	return r.group.Status()
}

// Waits returns a function for [mcpserver.HTTPOptions]. The function returns the first source for
// which the server still waits, and the reason in one line. The server waits until the first
// attempt to fetch a source has ended, and then until the source's skills are read.
func (r *Replica) Waits(c *catalog.Catalog) func() (name, why string) {
	if r == nil {
		return nil
	}
	return func() (name, why string) {
		if name, why = r.group.Waits(); name != "" {
			return name, strings.Join(strings.Fields(why), " ")
		}
		v, ok := c.Now(nil)
		for _, s := range r.sources {
			label := s.Root().Label
			if !ok || slices.ContainsFunc(v.Roots, func(r catalog.RootStatus) bool { return r.Label == label && r.Unread() }) {
				return label, "its skills are being read"
			}
		}
		return "", ""
	}
}
