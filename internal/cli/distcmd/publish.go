package distcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/origin/folder"
	"github.com/knack-dev/knack/internal/distribution/publish"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/internal/workspace/origins"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

func publishCommand(env *console.Env) *cobra.Command {
	p := publisher{env: env}
	cmd := &cobra.Command{
		Use:   "publish FROM TO",
		Short: "Send skills to a registry, as a release or as one skill",
		Long: `Send a folder of skills to a registry, as a release: an ordinary image with few
layers, which knack add, pull and serve read. Of a change, only what changed is
sent. If FROM is the folder of one skill, it is sent in the format of the
community. If FROM is oci://…, the release there is copied with its signatures,
or has another tag afterwards if TO is the same repository.

knack check judges the skills first; one with an error keeps all back. The tags
are set last. Equal skills have equal digests, on each machine.

TO is oci://REGISTRY/REPOSITORY[:TAG]. Without a tag it is latest. Credentials
are those of docker login.`,
		Example: `  knack publish ./skills oci://ghcr.io/acme/skills --tag v1.2.0 --tag prod
  knack publish oci://ghcr.io/acme/skills:v1.2.0 oci://ghcr.io/acme/skills:prod`,
		Args: command.ArgCount(2, 2, "FROM and TO: a folder or release, and a repository"),
	}
	command.ReturnsAlways(env, cmd, func() command.Result { return p.result() }, func(cmd *cobra.Command, args []string) (command.Result, error) {
		return p.publish(cmd.Context(), args[0], args[1])
	})
	s := cmd.Flags()
	s.Var((*command.Repeated)(&p.tags), "tag", "set this `TAG` (repeatable); the first that exists names the previous release")
	s.StringVar(&p.key, "sign-key", "", "sign with the private key in `FILE`: PKCS#8 in PEM (or KNACK_SIGN_KEY with the key itself)")
	s.BoolVar(&p.each, "each", false, "also publish each skill by itself, as TO/NAME")
	s.BoolVarP(&p.dry, "dry-run", "n", false, "print what would be sent, and send nothing")
	s.Bool("json", false, "print a JSON object")
	_ = cmd.MarkFlagFilename("sign-key", "pem", "key")
	return cmd
}

// publisher implements knack publish; its fields are the flags.
type publisher struct {
	env       *console.Env
	tags      []string
	key       string
	each, dry bool
}

// publishedJSON is the result of knack publish. doc/publish.md describes the fields.
type publishedJSON struct {
	Command string `json:"command"`
	DryRun  bool   `json:"dryRun"`
	command.Ending
	Findings []findingJSON `json:"findings,omitempty"`
	*artifactJSON
	Each []artifactJSON `json:"each,omitempty"`
}

// artifactJSON is the JSON form of a published manifest.
type artifactJSON struct {
	Kind       publish.Kind      `json:"kind"`
	To         string            `json:"to"`
	Digest     string            `json:"digest"`
	Tags       []string          `json:"tags"`
	Unchanged  bool              `json:"unchanged"`
	Signed     bool              `json:"signed"`
	Layers     int               `json:"layers"`
	Bytes      int64             `json:"bytes"`
	Sent       int               `json:"sent"`
	SentBytes  int64             `json:"sentBytes"`
	Statements int               `json:"statements,omitempty"`
	Replaced   map[string]string `json:"replaced,omitempty"`
	Skills     []memberJSON      `json:"skills,omitempty"`

	left int // see [publish.Result]
}

type memberJSON struct {
	Path   string `json:"path"`
	Name   string `json:"name,omitempty"`
	Digest string `json:"digest"`
}

// tagName matches the valid tags of a registry.
var tagName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

// targetForm is the hint for the form in which TO must be given.
const targetForm = "write oci://REGISTRY/REPOSITORY[:TAG], such as oci://ghcr.io/acme/skills:v1.2.0"

// targetMeant returns the fix for an unusable TO. It suggests the repository that the text seems to
// mean, or else gives the form.
func targetMeant(env *console.Env, text string) string {
	rest := text
	for _, scheme := range [...]string{"https:", "http:", "docker:", "oci:"} {
		rest = strings.TrimPrefix(rest, scheme)
	}
	meant := "oci://" + strings.ToLower(strings.Trim(rest, "/"))
	host, _, _ := strings.Cut(strings.TrimPrefix(meant, "oci://"), "/")
	if _, err := parseTyped(env, meant); err != nil || !strings.ContainsAny(host, ".:") {
		return targetForm
	}
	return "write " + display.Echo(meant)
}

// target parses TO, and sets the tags.
func (p *publisher) target(text string) (origin.Ref, error) {
	ref, err := origin.ParseTyped(text, p.env.Dir, p.env.Home)
	bad, _ := errors.AsType[*origin.RefError](err)
	switch {
	case err == nil && ref.Kind == origin.Folder:
		return ref, command.UsageError(targetForm+"; a folder needs no publishing: copy it, and 'knack add FOLDER' reads it", "TO, '%s', is a folder, and publish sends to a registry", display.Echo(text))
	case err == nil && ref.Kind != origin.OCI, bad != nil && !strings.HasPrefix(text, "oci:"):
		return ref, command.UsageError(targetMeant(p.env, text), "TO, '%s', is not a repository of a registry", display.Echo(text))
	case bad != nil:
		return ref, command.UsageError(targetMeant(p.env, text), "TO, '%s', is not usable: %w", display.Echo(text), bad)
	case err != nil:
		return ref, err
	case ref.Digest != "":
		return ref, command.UsageError("leave it out; a tag can be given in its place", "%s has a digest, which follows from the published files", display.Echo(text))
	case ref.Want != "" && len(p.tags) > 0:
		return ref, command.UsageError("give all tags with --tag, or one behind the repository", "%s has a tag, and --tag gives others", display.Echo(text))
	case ref.Want != "":
		p.tags = []string{ref.Want}
	case len(p.tags) == 0:
		p.tags = []string{"latest"}
	}
	for _, tag := range p.tags {
		if !tagName().MatchString(tag) {
			return ref, command.UsageError("letters, digits, '.', '_' and '-' are possible, and at most 128 of them", "'%s' is not a tag", display.Echo(tag))
		}
		if strings.HasPrefix(tag, "sha256-") {
			return ref, command.UsageError("choose another one", "the tag '%s' is of the form that signatures have", display.Echo(tag))
		}
	}
	return ref, nil
}

// signer returns the function that signs a digest, or nil if no key is given.
func (p *publisher) signer() (func(string) ([]byte, error), error) {
	data, where := []byte(p.env.Variable("KNACK_SIGN_KEY")), "KNACK_SIGN_KEY"
	if p.key != "" {
		var err error
		where = "--sign-key " + display.Echo(p.key)
		if data, err = settings.ReadNamed(p.env.Absolute(p.key), trust.MaxKey); err != nil {
			return nil, command.RunError("name the file of the private key", "%s: it cannot be read: %w", where, command.Cause(err))
		}
	}
	if len(data) == 0 {
		return nil, nil
	}
	key, err := trust.ParsePrivate(data)
	if bad := (*trust.KeyError)(nil); errors.As(err, &bad) {
		return nil, command.RunError(bad.Fix, "%s: %s", where, bad.Message)
	}
	if err != nil {
		return nil, command.RunError("", "%s: %w", where, err)
	}
	return func(digest string) ([]byte, error) { return trust.Sign(key, digest) }, nil
}

// created returns the time in SOURCE_DATE_EPOCH, or "" if it is not set.
func (p *publisher) created() (string, error) {
	text := p.env.Variable("SOURCE_DATE_EPOCH")
	if text == "" {
		return "", nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 || seconds >= 1<<37 {
		return "", command.UsageError("give the seconds since 1970, or unset it", "SOURCE_DATE_EPOCH is '%s', which is not a time", display.Echo(text))
	}
	return time.Unix(seconds, 0).UTC().Format(time.RFC3339), nil
}

// result returns the result of a command before it has done anything.
func (p *publisher) result() *publishedJSON {
	return &publishedJSON{Command: "publish", DryRun: p.dry}
}

// publish checks a folder and sends it to a registry, or copies a release between registries.
func (p *publisher) publish(ctx context.Context, from, to string) (command.Result, error) {
	env := p.env
	at, err := p.target(to)
	if err != nil {
		return nil, err
	}
	what, err := parseTyped(env, from)
	switch {
	case err != nil:
		return nil, err
	case what.Kind != origin.Folder && what.Kind != origin.OCI:
		return nil, command.UsageError("get it as a folder, and publish that; a folder is written with ./ or / before it", "%s is a source of the kind %s, and knack publishes folders and artifacts of registries", display.Echo(from), what.Kind)
	case what.Kind == origin.OCI && p.each:
		return nil, command.UsageError("publish the folder", "--each is not used with oci://")
	}
	sign, err := p.signer()
	if err != nil {
		return nil, err
	}
	created, err := p.created()
	if err != nil {
		return nil, err
	}
	var moving atomic.Pointer[[]string]
	done := console.ShowProgress(env, console.Step{What: "publishing to " + at.String(), Short: shortSource(at.String()), Parts: func() []string { return *cmp.Or(moving.Load(), new([]string)) }})
	defer done()
	out, fit := p.result(), ""
	if what.Kind == origin.Folder {
		if out.Findings, err = p.check(ctx, what.Location); err != nil {
			return out, err
		}
		if p.dry {
			fit = fitToPublish
		}
	}
	if offline, err := origins.Offline(env); err != nil || offline {
		return nil, cmp.Or(err, command.RunError("unset KNACK_OFFLINE"+fit, "a registry cannot be reached offline"))
	}
	shelf, err := origins.OpenCache(env)
	if err != nil {
		return nil, err
	}
	defer shelf.Close()
	servers := httpfetch.New(httpfetch.Options{Proxy: env.Proxy, Agent: "knack"})
	defer servers.Close()
	clients := registry.New(origins.Registry(origins.Options{Env: env, Fetch: servers}))
	pub := &publish.Publisher{
		From: display.Echo(from), Registries: clients, Spool: shelf.Spool, Sign: sign, Created: created, DryRun: p.dry,
		Progress: func(what string, done, total int64) {
			moving.Store(&[]string{what, megabytes(done, total)})
		},
	}
	var all []*publish.Result
	if what.Kind == origin.OCI {
		all, err = p.copy(ctx, pub, what, at)
	} else {
		all, err = p.folder(ctx, pub, what, at)
	}
	for _, r := range all {
		out.add(r)
	}
	refused := (*publish.Refused)(nil)
	switch {
	case err == nil || command.FailureIn(err) != nil:
		return out, err
	case errors.As(err, &refused):
		return out, command.Fail(command.No, err, refused.Fix)
	}
	problem := install.ProblemOf(err)
	if !problem.No && !problem.Usage {
		problem.Fix = strings.TrimPrefix(problem.Fix+fit, "; ")
	}
	return out, failure(problem)
}

// fitToPublish ends the hint of a --dry-run that has found the skills publishable, but cannot reach
// the registry.
const fitToPublish = "; the skills can be published, but their digest and sizes depend on the registry's last release"

// repositoryOf returns the repository of a reference, or the one below it.
func repositoryOf(c *registry.Client, ref origin.Ref, below string) *registry.Repository {
	host, name, _ := strings.Cut(strings.TrimPrefix(ref.Source, "oci://"), "/")
	return c.Repository(host, host, path.Join(name, below))
}

func (p *publisher) copy(ctx context.Context, pub *publish.Publisher, from, to origin.Ref) ([]*publish.Result, error) {
	name := cmp.Or(from.Digest, from.Want, "latest")
	r, err := pub.Copy(ctx, repositoryOf(pub.Registries, from, ""), name, publish.Target{Repository: repositoryOf(pub.Registries, to, "").Writable(), Tags: p.tags})
	if err != nil {
		return nil, err
	}
	p.warnReplaced(r)
	return []*publish.Result{r}, nil
}

func (p *publisher) folder(ctx context.Context, pub *publish.Publisher, from, to origin.Ref) ([]*publish.Result, error) {
	lock, err := p.lockOf(from.Location)
	if err != nil {
		return nil, err
	}
	o := folder.Origin{}
	lib, err := o.Open(ctx, from, origin.Revision{})
	if err != nil {
		return nil, err
	}
	defer lib.Close()
	target := publish.Target{Repository: repositoryOf(pub.Registries, to, "").Writable(), Tags: p.tags}
	r, warning, err := pub.Library(ctx, lib, lock, target)
	if err != nil {
		return nil, err
	}
	if warning != "" {
		p.env.Err().Text(console.Warning, warning)
	}
	all := []*publish.Result{r}
	p.warnReplaced(r)
	if !p.each {
		return all, nil
	}
	each, err := pub.Each(ctx, lib, func(name string) (publish.Target, error) {
		in := repositoryOf(pub.Registries, to, strings.ToLower(name)).Writable()
		return publish.Target{Repository: in, Tags: p.tags}, in.Check()
	}, target.Repository)
	for _, r := range each {
		p.warnReplaced(r)
	}
	return append(all, each...), err
}

// warnReplaced warns about each version tag that had other content before.
func (p *publisher) warnReplaced(r *publish.Result) {
	for _, tag := range slices.Sorted(maps.Keys(r.Replaced)) {
		p.env.Err().Text(console.Warning, fmt.Sprintf("oci://%s:%s %s %s: publish changes as a new version, since readers take a version for the same content", r.To, tag, map[bool]string{true: "is", false: "was"}[p.dry], r.Replaced[tag]))
	}
}

// add adds a published artifact to the result.
func (o *publishedJSON) add(r *publish.Result) {
	j := artifactJSON{Kind: r.Kind, To: "oci://" + r.To, Digest: r.Digest, Tags: r.Tags, Unchanged: r.Unchanged, Signed: r.Signed, Layers: r.Layers, Bytes: r.Size, Sent: r.Sent, SentBytes: r.SentBytes, Statements: r.Statements, Replaced: r.Replaced, left: r.Left}
	for _, s := range r.Skills {
		j.Skills = append(j.Skills, memberJSON{s.Path, s.Name, s.Digest.String()})
	}
	if o.artifactJSON == nil {
		o.artifactJSON = &j
	} else {
		o.Each = append(o.Each, j)
	}
}

// Print implements [command.Result].
func (o *publishedJSON) Print(env *console.Env) {
	for _, f := range o.Findings {
		f.diagnostic.Print(env.Err(), f.source)
	}
	if o.artifactJSON == nil {
		return
	}
	for _, r := range append([]artifactJSON{*o.artifactJSON}, o.Each...) {
		r.print(env, o.DryRun)
	}
}

func (r artifactJSON) print(env *console.Env, dry bool) {
	verb := map[publish.Kind][2]string{publish.Mirrored: {"copied to", "would copy to"}, publish.Tagged: {"tagged", "would tag"}}[r.Kind]
	verb[0], verb[1] = cmp.Or(verb[0], "published"), cmp.Or(verb[1], "would publish")
	word := verb[0]
	switch {
	case r.Unchanged:
		word = "unchanged:"
	case dry:
		word = verb[1]
	}
	var what []string
	add := func(format string, args ...any) { what = append(what, fmt.Sprintf(format, args...)) }
	if r.Kind == publish.Release {
		add("%s", display.Count(len(r.Skills), "skill"))
	}
	if r.Layers > 0 {
		add("%s, %s", display.Count(r.Layers, "layer"), sizeOf(r.Bytes))
	}
	if !r.Unchanged && r.Kind != publish.Tagged {
		new := map[bool]string{true: "would be sent", false: "sent"}[dry]
		add("%s %s", sizeOf(r.SentBytes), new)
		if r.Statements > 0 {
			add("%s of signatures %s", display.Count(r.Statements, "manifest"), new)
		}
	}
	if r.Signed {
		add("signed")
	}
	out := env.Out()
	out.Line("%s %s: %s", word, console.Bold.Of(r.To+":"+strings.Join(r.Tags, ", :")), strings.Join(what, ", "))
	out.Line("  %s", r.Digest)
	if r.left > 0 {
		env.Err().Text(console.Hint, display.Count(r.left, "file or folder")+" with a dot before the name: not published, since no server offers them")
	}
}

// sizeOf formats a number of bytes for people.
func sizeOf(n int64) string {
	if n < 1e5 {
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
