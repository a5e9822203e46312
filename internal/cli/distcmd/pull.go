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
	"github.com/knack-dev/knack/internal/base/edit"
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
	"github.com/knack-dev/knack/internal/workspace/replica"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

func pullCommand(env *console.Env) *cobra.Command {
	p := puller{env: env}
	cmd := &cobra.Command{
		Use:   "pull SOURCE",
		Short: "Bring all skills of a source into the store, for a server",
		Long: `Bring all skills of a source into the store, as one release: all or none.
Each file is compared with the digests of the release. knack serve --source
SOURCE then starts with them at once. Of a release in a registry, only the
layers that the store does not have are fetched. A lower version than before is
refused, by the rules for the source in knack.yaml too.

A source is written as for knack add, or is the name of one under sources in
knack.yaml, with its token. Nothing is installed into a project. With
--to, the skills are also unpacked into a folder, with a knack.lock. The folder
changes as a whole, and only if all that is in it is as knack wrote it.`,
		Example: `  knack pull oci://registry.example.com/acme/skills:prod
  knack pull acme/skills@v1.2.0 --dry-run   # what would be fetched
  knack pull oci://registry.example.com/acme/skills:prod --to /srv/skills`,
		Args: command.ArgCount(1, 1, "one source"),
	}
	command.ReturnsAlways(env, cmd, func() command.Result { return p.result() }, func(cmd *cobra.Command, args []string) (command.Result, error) {
		return p.pull(cmd.Context(), args[0])
	})
	s := cmd.Flags()
	s.BoolVarP(&p.dry, "dry-run", "n", false, "print what would be done, and do nothing")
	s.StringVar(&p.to, "to", "", "also unpack the skills into the folder `DIR`")
	_ = cmd.MarkFlagDirname("to")
	s.Bool("json", false, "print a JSON object")
	s.StringVar(&p.config, "config", "", "`FILE` names the trusted keys and the store, not your knack.yaml")
	_ = cmd.MarkFlagFilename("config")
	s.BoolVar(&p.downgrade, "allow-downgrade", false, allowDowngradeUsage)
	s.BoolVar(&p.offline, "offline", false, "use only what is on this machine (also KNACK_OFFLINE=1)")
	return cmd
}

// puller implements knack pull; its fields are the flags.
type puller struct {
	env                     *console.Env
	dry, offline, downgrade bool
	to, config              string
}

// pulledJSON is the result of knack pull. doc/pull.md describes the fields.
type pulledJSON struct {
	Command string `json:"command"`
	DryRun  bool   `json:"dryRun"`
	command.Ending
	Source    string      `json:"source,omitempty"`
	inFile    bool        // the source is one of knack.yaml
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

// result returns the result of a command before it has done anything.
func (p *puller) result() *pulledJSON { return &pulledJSON{Command: "pull", DryRun: p.dry} }

// pull fetches the release of a source into the store and, with --to, unpacks it into a folder.
func (p *puller) pull(ctx context.Context, text string) (command.Result, error) {
	env := p.env
	files := settings.New(env, p.config)
	from, typed, err := p.source(files, text)
	if err != nil {
		return nil, err
	}
	offline, err := origins.Offline(env)
	if err != nil {
		return nil, err
	}
	offline = offline || p.offline
	ref := from.Ref
	trusted, err := files.Trust()
	if err != nil {
		return nil, err
	}
	rules, err := p.rules(ref, trusted, files)
	if err != nil {
		return nil, err
	}
	shelf, err := origins.OpenStore(env, files, env.Shown)
	if err != nil {
		return nil, err
	}
	defer shelf.Close()
	servers := httpfetch.New(from.Fetch)
	defer servers.Close()
	var now atomic.Pointer[pull.Report]
	done := console.ShowProgress(env, console.Step{What: "pulling " + ref.String(), Short: shortSource(ref.String()), Parts: func() []string { return progressOf(now.Load()) }})
	defer done()
	puller := &pull.Puller{
		Store: shelf, Clean: from.Clean,
		Trust: trusted, AllowDowngrade: p.downgrade,
		Progress: func(r pull.Report) { now.Store(&r) },
		Origins: origins.New(origins.Options{
			Env: env, Store: shelf, Progress: func(origin.Unit, int64, int64) {}, Offline: offline, Fetch: servers, Typed: typed, Login: from.Fetch.Login,
			Warn: func(text string) { env.Err().Text(console.Warning, text) },
		}),
	}
	out := p.result()
	var into pull.Folder
	if p.to != "" {
		at := env.Absolute(p.to)
		into = pull.Folder{Store: shelf, Dir: filepath.Join(realpath.Of(filepath.Dir(at)), filepath.Base(at))}
		out.To = into.Dir
		if err := into.Check(ctx, ref); err != nil {
			return out, p.unpackFailure(err)
		}
	}
	var u release.Updated
	if offline {
		u, err = stored(puller, ref)
	} else {
		u, err = fetch(ctx, puller, release.Request{
			Ref: ref, Rules: rules, AllowDowngrade: p.downgrade, DryRun: p.dry, Have: release.Stored(puller, ref),
			Set: func(h store.Head) error { return shelf.SetHead(ref.String(), h) },
		})
	}
	out.describe(u)
	if err != nil {
		return out, err
	}
	if p.to != "" && !p.dry {
		if out.Unpacked, err = into.Unpack(ctx, ref, u.Release); err != nil {
			return out, p.unpackFailure(err)
		}
	}
	out.Source, out.inFile = ref.String(), from.Clean != nil
	return out, nil
}

// source returns the source that a word names. This is a source of knack.yaml, with its
// credentials, or any other one as a user types it. typed are the servers that may get the token
// for typed sources.
func (p *puller) source(files *settings.Finder, word string) (from replica.Named, typed []string, err error) {
	file, err := files.Trusted()
	if err != nil {
		return from, nil, err
	}
	if from, ok := (replica.Options{Env: *p.env, Files: files, File: file}).NamedSource(word); ok {
		return from, nil, nil
	}
	from.Fetch = httpfetch.Options{Proxy: p.env.Proxy, Agent: "knack"}
	if from.Ref, err = parseTyped(p.env, word); from.Ref.Kind == origin.MCP {
		typed = append(typed, from.Ref.Location)
	}
	from.Fetch.Login = loginOf(from.Ref)
	if _, missing := realpath.Eval(p.env.Absolute(word)); err != nil && missing != nil && skill.ValidName(word) {
		fix := command.FailureIn(err).Hint
		var names []string
		for i := 0; file != nil && i < len(file.Config.Sources); i++ {
			if name := file.Config.Sources[i].Name.Text; name != "" {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			fix = "it has " + display.First(names, maxSame) + "; else " + fix
		}
		err = command.UsageError(fix, "%s: knack.yaml has no source of this name, and a name alone is none elsewhere", word)
	}
	return from, typed, err
}

// parseTyped parses a source as a user types it, and turns an error into a failure of the command.
func parseTyped(env *console.Env, text string) (origin.Ref, error) {
	ref, err := origin.ParseTyped(text, env.Dir, env.Home)
	if bad := (*origin.RefError)(nil); errors.As(err, &bad) {
		return ref, command.UsageError(bad.Fix, "%s: %s", cmp.Or(install.Short(text), "''"), bad.Message)
	}
	if err != nil {
		err = command.RunError("", "%w", err)
	}
	return ref, err
}

// unpackFailure converts an error from unpacking into a failure of the command.
func (p *puller) unpackFailure(err error) error {
	to := p.env.Shown(p.env.Absolute(p.to))
	const free = "free some space, or name another folder with --to"
	var room *edit.NoRoom
	switch {
	case errors.As(err, new(*store.Fault)):
	case errors.As(err, &room):
		return command.RunError(free, "nothing was unpacked, since the disk of %s %w", to, room)
	case edit.IsFull(err):
		return command.RunError(free, "nothing was unpacked, since the disk of %s is full", to)
	case errors.Is(err, pull.ErrForeign):
		return command.Fail(command.No, err, "")
	}
	return failure(install.ProblemOf(err))
}

// progressOf describes the progress of a pull. It returns nil if the number of layers is unknown.
func progressOf(r *pull.Report) []string {
	if r == nil || r.Layers == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d layers", r.Done, r.Layers), megabytes(r.Bytes, r.Total)}
}

func megabytes(done, total int64) string {
	return fmt.Sprintf("%.1f of %.1f MB", float64(done)/1e6, float64(total)/1e6)
}

// shortSource returns a source without the scheme and host of its registry.
func shortSource(source string) string {
	if rest, ok := strings.CutPrefix(source, "oci://"); ok {
		_, source, _ = strings.Cut(rest, "/")
	}
	return source
}

// fetch checks the source for a release, and fetches the content that the store lacks.
func fetch(ctx context.Context, from *pull.Puller, q release.Request) (release.Updated, error) {
	u, err := release.Update(ctx, from, q)
	switch {
	case err == nil:
		return u, nil
	case errors.As(err, new(*origin.Misnamed)):
		err = command.Fail(command.No, err, "ask its publisher whether the tag was moved; --allow-downgrade takes it, as the version that it says")
	case errors.As(err, new(*release.TooLow)):
		err = command.Fail(command.No, err, "")
	default:
		err = failure(install.ProblemOf(err))
	}
	return release.Updated{Report: u.Report}, err
}

// rules returns the rules for a source that a server with the same configuration applies.
func (p *puller) rules(ref origin.Ref, signers trust.Rules, files *settings.Finder) (release.Rules, error) {
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

// stored returns the stored release of a source without asking the source.
func stored(from *pull.Puller, ref origin.Ref) (u release.Updated, err error) {
	refuse := func(format string, args ...any) (release.Updated, error) {
		return u, command.Fail(command.No, fmt.Errorf(format, args...), "run the command once without --offline and KNACK_OFFLINE")
	}
	_, r, err := release.Head(from.Store, ref.String())
	if err != nil {
		return u, failure(install.ProblemOf(err))
	}
	if r.Digest == "" {
		return refuse("the store has no release of %s", ref)
	}
	if err := from.Trust.Locked(ref.Source, r.Signer); err != nil {
		return refuse("%w", err)
	}
	for _, m := range r.Skills {
		if m.Fault != "" {
			continue
		}
		if _, err := from.Store.Find(m.Skill); err != nil {
			return refuse("the store no longer has the skill %s of %s as it was", display.Quote(m.Path), ref)
		}
	}
	return release.Updated{Release: r, Before: r, Same: true}, nil
}

// describe fills in the facts of a release, and its changes since the previous one.
func (o *pulledJSON) describe(u release.Updated) {
	r, before := u.Release, u.Before
	o.Layers, o.Fetched, o.Bytes, o.Unchanged = u.Report.Layers, u.Report.Fetched, u.Report.Bytes, u.Same
	if o.DryRun {
		o.Bytes = u.Report.Total
	}
	o.Release, o.Revision, o.Version, o.Signature, o.Signer = r.Digest, r.Revision, r.Version, r.Signature, r.Signer
	o.Layers = max(o.Layers, len(r.Layers)) // also for a release that was in the store already
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

// Print implements [command.Result].
func (o *pulledJSON) Print(env *console.Env) {
	if o.Status != command.Done {
		return
	}
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
	case o.DryRun:
		verb = "would pull"
	}
	p := env.Out()
	p.Line("%s %s: %s", verb, console.Bold.Of(o.Source), strings.Join(what, ", "))
	switch {
	case o.To == "":
	case o.DryRun:
		p.Line("would unpack into %s", env.Shown(o.To))
	case o.Unpacked:
		p.Line("unpacked into %s", env.Shown(o.To))
	default:
		p.Line("%s has it already", env.Shown(o.To))
	}
	defer o.next(env)
	for _, f := range o.Left {
		env.Err().Text(console.Warning, fmt.Sprintf("%s is left out: %s", display.Quote(f.Path), f.Reason))
	}
}

// next prints a hint with the command that serves the pulled skills.
func (o *pulledJSON) next(env *console.Env) {
	from := []string{"serve", "--source", o.Source}
	switch {
	case o.To != "":
		from = []string{"serve", "--dir", env.Shown(o.To)}
	case o.inFile: // with --source its skills would have other URIs
		from = []string{"serve"}
	}
	if !o.DryRun {
		env.Err().Text(console.Hint, "serve it with "+env.Command(from...))
	}
}
