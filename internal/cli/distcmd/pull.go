package distcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/distribution/release"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/internal/workspace/origins"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

func pullCommand(env *console.Env) *cobra.Command {
	p := pulling{env: env}
	cmd := &cobra.Command{
		Use:        "pull SOURCE",
		SuggestFor: []string{"fetch", "download", "mirror"},
		Short:      "Bring all skills of a source into the store, verified",
		Long: `Bring all skills of a source into the store, as one release: all or none.
Each file is compared with the digests of the release. knack serve --source
SOURCE then starts with them at once. Of a release in a registry, only the
layers that the store does not have are fetched. A lower version than before is
refused, by the rules for the source in knack.yaml too.

A source is written as for knack add. Nothing is installed into a project. With
--to, the skills are also unpacked into a folder, with a knack.lock. The folder
changes as a whole, and only if all that is in it is as knack wrote it.`,
		Example: `  knack pull oci://registry.example.com/acme/skills:prod
  knack pull acme/skills@v1.2.0 --dry-run   # what would be fetched
  knack pull oci://registry.example.com/acme/skills:prod --to /srv/skills`,
		Args: command.ArgCount(1, 1, "one source"),
		RunE: func(cmd *cobra.Command, args []string) error { return p.run(cmd, args[0]) },
	}
	check, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, args []string) error { return p.failed(cmd, check(cmd, args)) }
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return p.failed(cmd, run(cmd, args)) }
	s := cmd.Flags()
	s.BoolVar(&p.dry, "dry-run", false, "print what would be done, and do nothing")
	s.StringVar(&p.to, "to", "", "also unpack the skills into the folder `DIR`")
	_ = cmd.MarkFlagDirname("to")
	s.BoolVar(&p.json, "json", false, "print a JSON object")
	s.StringVar(&p.config, "config", "", "the trusted keys and the store are those of `FILE`, not of your knack.yaml (doc/configuration.md)")
	_ = cmd.MarkFlagFilename("config")
	s.BoolVar(&p.downgrade, "allow-downgrade", false, allowDowngradeUsage)
	s.BoolVar(&p.offline, "offline", false, "use only what is on this machine (also KNACK_OFFLINE=1)")
	return cmd
}

// pulling is one knack pull.
type pulling struct {
	env                *console.Env
	dry, json, offline bool
	downgrade          bool
	to, config         string

	printed bool // the JSON object is printed
	out     pulledJSON
}

// pulledJSON is the result in JSON. doc/pull.md describes the fields.
type pulledJSON struct {
	Command   string      `json:"command"`
	DryRun    bool        `json:"dryRun"`
	Status    int         `json:"status"`
	Reason    string      `json:"reason,omitempty"`
	Fix       string      `json:"fix,omitempty"`
	Source    string      `json:"source,omitempty"`
	Release   string      `json:"release,omitempty"`
	Before    string      `json:"before,omitempty"`
	Unchanged bool        `json:"unchanged"`
	Revision  string      `json:"revision,omitempty"`
	Version   string      `json:"version,omitempty"`
	Signature string      `json:"signature,omitempty"`
	Signer    string      `json:"signer,omitempty"`
	Skills    int         `json:"skills"`
	Added     int         `json:"added"`
	Changed   int         `json:"changed"`
	Removed   int         `json:"removed"`
	Left      []faultJSON `json:"left,omitempty"`
	Layers    int         `json:"layers"`
	Fetched   int         `json:"fetched"`
	Bytes     int64       `json:"bytes"`
	To        string      `json:"to,omitempty"`
	Unpacked  bool        `json:"unpacked"`
}

type faultJSON struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// failed prints the object of a command that failed.
func (p *pulling) failed(cmd *cobra.Command, err error) error {
	if err == nil || !p.json || p.printed {
		return err
	}
	if i, ok := console.InterruptOf(cmd.Context()); ok {
		err = i
	}
	p.printed = true
	p.out.Command, p.out.DryRun = "pull", p.dry
	var status reportJSON
	status.fail(err)
	p.out.Status, p.out.Reason, p.out.Fix = status.Status, status.Reason, status.Fix
	return cmp.Or(console.PrintJSON(p.env.Stdout, p.out), err)
}

func (p *pulling) run(cmd *cobra.Command, text string) error {
	env := p.env
	ref, err := origin.ParseTyped(text, env.Dir, env.Home)
	if bad := (*origin.RefError)(nil); errors.As(err, &bad) {
		return command.UsageError(bad.Fix, "%s", bad.Message)
	}
	if err != nil {
		return command.RunError("", "%w", err)
	}
	offline, err := origins.Offline(env)
	if err != nil {
		return err
	}
	files := settings.New(env, p.config)
	rules, err := files.Trust()
	if err != nil {
		return err
	}
	allowed, err := p.rules(ref, rules, files)
	if err != nil {
		return err
	}
	shelf, err := origins.OpenStore(env, files, env.Shown)
	if err != nil {
		return err
	}
	defer shelf.Close()
	servers := httpfetch.New(httpfetch.Options{Proxy: env.Proxy, Agent: "knack"})
	defer servers.Close()
	var now atomic.Pointer[pull.Report]
	done := console.ShowProgress(env, console.Step{What: "pulling " + ref.String(), Short: shortSource(ref.String()), Parts: func() []string { return progressOf(now.Load()) }})
	defer done()
	puller := &pull.Puller{
		Store: shelf,
		Trust: rules, AllowDowngrade: p.downgrade,
		Progress: func(r pull.Report) { now.Store(&r) },
		Origins: origins.New(origins.Options{
			Env: env, Store: shelf, Progress: func(string, int64, int64) {}, Offline: offline || p.offline, Fetch: servers,
			Warn: func(text string) { env.Err().Text(console.Warning, text) },
		}),
	}
	ctx := cmd.Context()
	unpack := func(store.Release) error { return nil }
	if p.to != "" {
		at := env.Absolute(p.to)
		into := pull.Folder{Store: shelf, Dir: filepath.Join(realpath.Of(filepath.Dir(at)), filepath.Base(at))}
		p.out.To = into.Dir
		if err := into.Check(ctx, ref); err != nil {
			return cmp.Or(ctx.Err(), unpackFailure(err))
		}
		unpack = func(r store.Release) (err error) {
			p.out.Unpacked, err = into.Unpack(ctx, ref, r)
			return unpackFailure(err)
		}
	}
	var r store.Release
	if p.offline || offline {
		r, err = p.here(puller, ref)
	} else {
		r, err = p.fetch(ctx, puller, release.Request{Ref: ref, Rules: allowed, AllowDowngrade: p.downgrade, DryRun: p.dry})
	}
	if err == nil && !p.dry {
		err = unpack(r)
	}
	if err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	done()
	p.out.Command, p.out.DryRun, p.out.Source = "pull", p.dry, ref.String()
	if p.json {
		p.printed = true
		return console.PrintJSON(env.Stdout, p.out)
	}
	p.text()
	return nil
}

// unpackFailure returns an error of a folder as one of the command.
func unpackFailure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pull.ErrForeign):
		return command.Fail(command.No, err, "")
	}
	return failure(install.ProblemOf(err))
}

// progressOf describes the progress of a pull. It is nil if that is unknown.
func progressOf(r *pull.Report) []string {
	if r == nil || r.Layers == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d layers", r.Done, r.Layers), megabytes(r.Bytes, r.Total)}
}

func megabytes(done, total int64) string {
	return fmt.Sprintf("%.1f of %.1f MB", float64(done)/1e6, float64(total)/1e6)
}

// shortSource is a source without the scheme and the host of a registry.
func shortSource(source string) string {
	if rest, ok := strings.CutPrefix(source, "oci://"); ok {
		_, source, _ = strings.Cut(rest, "/")
	}
	return source
}

// fetch asks the source, and fetches content that the store lacks.
func (p *pulling) fetch(ctx context.Context, puller *pull.Puller, q release.Request) (store.Release, error) {
	u, err := release.Update(ctx, puller, q)
	o := &p.out
	o.Layers, o.Fetched, o.Bytes = u.Report.Layers, u.Report.Fetched, u.Report.Bytes
	if p.dry {
		o.Bytes = u.Report.Total
	}
	switch {
	case errors.As(err, new(*origin.Misnamed)):
		return store.Release{}, command.Fail(command.No, err, "ask its publisher whether the tag was moved; --allow-downgrade takes it, as the version that it says")
	case errors.As(err, new(*release.TooLow)):
		return store.Release{}, command.Fail(command.No, err, "")
	case err != nil:
		return store.Release{}, failure(install.ProblemOf(err))
	}
	o.Unchanged = u.Same
	p.is(u.Release, u.Before)
	return u.Release, nil
}

// rules returns the rules for a source, as a server with the same file applies them.
func (p *pulling) rules(ref origin.Ref, signers *trust.Policy, files *settings.Finder) (release.Rules, error) {
	rule, _ := signers.Rule(ref.Source)
	rules := release.Rules{Trusts: rule.Trusts}
	file, err := files.Trusted()
	if err != nil || file == nil {
		return rules, err
	}
	for _, s := range file.Config.Sources {
		from, err := origin.Parse(s.From.Text, filepath.Dir(file.Path), p.env.Home)
		if err == nil && from.String() == ref.String() {
			rules.ForwardOnly, rules.MinVersion = s.ForwardOnly, s.MinVersion
		}
	}
	return rules, nil
}

// here returns the stored release of a source, without any request.
func (p *pulling) here(puller *pull.Puller, ref origin.Ref) (store.Release, error) {
	s := puller.Store
	_, r, err := release.Head(s, ref.String())
	if err != nil {
		return store.Release{}, failure(install.ProblemOf(err))
	}
	if r.Digest == "" {
		return store.Release{}, command.Fail(command.No, fmt.Errorf("the store has no release of %s", ref), "run the command once without --offline")
	}
	if err := puller.Trust.Locked(ref.Source, r.Signer); err != nil {
		return store.Release{}, command.Fail(command.No, err, "run the command once without --offline")
	}
	for _, m := range r.Skills {
		if m.Fault != "" {
			continue
		}
		if _, err := s.Find(m.Skill); err != nil {
			return store.Release{}, command.Fail(command.No, fmt.Errorf("the store no longer has the skill %s of %s as it was", display.Quote(m.Path), ref), "run the command once without --offline")
		}
	}
	p.out.Unchanged = true
	p.is(r, r)
	return r, nil
}

// is fills in a release and its changes.
func (p *pulling) is(r, before store.Release) {
	o := &p.out
	o.Release, o.Revision, o.Version, o.Signature, o.Signer = r.Digest, r.Revision, r.Version, r.Signature, r.Signer
	o.Layers = max(o.Layers, len(r.Layers)) // of a release that was there
	if before.Digest != r.Digest {
		o.Before = before.Digest
	}
	was := make(map[string]store.Member, len(before.Skills))
	for _, m := range before.Skills {
		was[m.Path] = m
	}
	for _, m := range r.Skills {
		old, had := was[m.Path]
		delete(was, m.Path)
		switch {
		case m.Fault != "":
			o.Left = append(o.Left, faultJSON{m.Path, m.Fault})
			continue
		case !had || old.Fault != "":
			o.Added++
		case old.Skill != m.Skill:
			o.Changed++
		}
		o.Skills++
	}
	if len(r.Skills) > 0 {
		o.Removed = len(was)
	}
}

// text prints the result as a person reads it.
func (p *pulling) text() {
	o := p.out
	what := []string{}
	add := func(format string, args ...any) { what = append(what, fmt.Sprintf(format, args...)) }
	if o.Version != "" {
		add("%s", o.Version)
	}
	if o.Skills > 0 {
		add("%s", display.Count(o.Skills, "skill"))
	}
	if o.Before != "" && o.Skills > 0 {
		for _, n := range []struct {
			n    int
			what string
		}{{o.Added, "added"}, {o.Changed, "changed"}, {o.Removed, "removed"}} {
			if n.n > 0 {
				add("%s %s", display.Thousands(n.n), n.what)
			}
		}
	}
	if o.Layers > 0 && (o.Fetched > 0 || !o.Unchanged) {
		add("%d of %s, %s", o.Fetched, display.Count(o.Layers, "layer"), sizeOf(o.Bytes))
	}
	if o.Release != "" {
		add("%.19s", o.Release)
	}
	verb := "pulled"
	switch {
	case o.Unchanged:
		verb = "unchanged:"
	case p.dry:
		verb = "would pull"
	}
	p.env.Out().Line("%s %s: %s", verb, console.Bold.Of(o.Source), strings.Join(what, ", "))
	switch {
	case o.To == "":
	case p.dry:
		p.env.Out().Line("would unpack into %s", p.env.Shown(o.To))
	case o.Unpacked:
		p.env.Out().Line("unpacked into %s", p.env.Shown(o.To))
	default:
		p.env.Out().Line("%s has it already", p.env.Shown(o.To))
	}
	for _, f := range o.Left {
		p.env.Err().Text(console.Warning, fmt.Sprintf("%s is left out: %s", display.Quote(f.Path), f.Reason))
	}
}
