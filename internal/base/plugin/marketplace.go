package plugin

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/hosts"
	"github.com/knack-dev/knack/internal/base/typo"
)

// Marketplace contains the parts of a list of plugins that knack uses.
type Marketplace struct {
	Client  Client
	Name    string
	Owner   string // the name of the owner
	Plugins []Offer
	// Rejected reports whether the client rejects the whole list.
	Rejected bool
}

// Offer is one plugin of a marketplace.
type Offer struct {
	Name, Description, Version string
	Source                     Source
	// Skills are the paths of the entry's skills, clean and below the plugin's root.
	Skills   []string
	SkillsAt []Span
	// Strict reports whether the entry adds to the plugin's own manifest. Otherwise the entry is
	// the whole manifest, and Claude Code loads nothing if the plugin's manifest defines components
	// too.
	Strict   bool
	StrictAt Span
	// Components are the fields that define components, such as commands.
	Components []string
	// Installation is Codex's installation policy: AVAILABLE, NOT_AVAILABLE or
	// INSTALLED_BY_DEFAULT, or "".
	Installation string
	// Skipped reports whether the entry is unusable, so that clients install nothing from it.
	Skipped bool
	Span    // of the entry's name, or of the entry
}

// Kind is the kind of the source of a plugin.
type Kind string

// The kinds of sources.
const (
	Local   Kind = "local"      // Path below the marketplace's root
	GitHub  Kind = "github"     // Repo, Path below it, Ref, SHA
	Git     Kind = "url"        // URL, Path below it, Ref, SHA
	Subdir  Kind = "git-subdir" // URL, Path below it (required), Ref, SHA
	NPM     Kind = "npm"        // Package, Version, Registry
	Archive Kind = "archive"    // URL, SHA256
	Command Kind = "command"    // a program to run; knack never runs it
)

// Source is where the files of a plugin come from.
type Source struct {
	Kind Kind // "" if the source cannot be used
	// Path is clean and below the marketplace, the repository or the archive; "." is its root.
	Path                       string
	Repo                       string // OWNER/NAME
	URL                        string
	Ref, SHA                   string // a branch or tag, a commit of 40 hexadecimal digits
	Package, Version, Registry string
	SHA256                     string // of an archive
	Span
}

// sourceFields lists the required and the optional fields of each kind of source.
var sourceFields = map[Kind][2][]string{
	Local:   {{"path"}},
	GitHub:  {{"repo"}, {"path", "ref", "sha"}},
	Git:     {{"url"}, {"path", "ref", "sha"}},
	Subdir:  {{"url", "path"}, {"ref", "sha"}},
	NPM:     {{"package"}, {"version", "registry"}},
	Archive: {{"url"}, {"sha256", "path"}},
}

// ParseMarketplace reads the marketplace of a client. The result is nil if the file is not a JSON
// object.
func ParseMarketplace(data []byte, c Client) (*Marketplace, []Fault) {
	r := &report{}
	top := r.parse(data, MaxMarketplace, RuleMarketJSON, Rejects)
	if top == nil {
		return nil, r.list()
	}
	m := &Marketplace{Client: c, Name: top.get("name").string(), Owner: top.get("owner").get("name").string()}
	r.marketName(top.get("name"))
	if owner := top.get("owner"); c == Claude && m.Owner == "" {
		r.add(RuleMarketField, Rejects, owner, "owner", `write "owner": {"name": "…"}`, "owner has no name, and Claude Code rejects the marketplace for it")
	}
	root := "."
	if base := top.get("metadata").get("pluginRoot"); base != nil {
		clean, ok := Clean(base.string())
		if !ok {
			r.add(RuleMarketPath, Rejects, base, "metadata.pluginRoot", "write a path below the marketplace, such as ./plugins", "metadata.pluginRoot leads out of the marketplace")
		} else {
			root = clean
		}
	}
	switch plugins := top.get("plugins"); {
	case plugins == nil:
		r.add(RuleMarketField, Rejects, nil, "plugins", `write "plugins": […]`, "plugins is missing")
	case plugins.kind != list:
		r.add(RuleMarketField, Rejects, plugins, "plugins", `write "plugins": […]`, "plugins is %s and not a list", kindNames[plugins.kind])
	default:
		seen := map[string]int{}
		for i, v := range plugins.items {
			m.Plugins = append(m.Plugins, r.entry(v, i, root, c, seen))
		}
	}
	m.Rejected = r.worst(Rejects)
	return m, r.list()
}

func (r *report) marketName(name *value) {
	switch {
	case name == nil:
		r.add(RuleMarketField, Rejects, nil, "name", `write "name": "…"`, "name is missing")
	case name.kind != text:
		r.add(RuleMarketField, Rejects, name, "name", "write a string", "name is %s and not a string", kindNames[name.kind])
	case !isFolderName(name.text) || strings.ContainsAny(name.text, "@ "):
		r.add(RuleMarketField, Rejects, name, "name", nameFix(name.text), "the name %s cannot be the name of a folder or stand after @", display.Quote(name.text))
	case !isName(name.text):
		r.add(RuleMarketField, Ignores, name, "name", nameFix(name.text), "name %s", nameFault(name.text))
	}
}

// entry reads one plugin of a marketplace. Its faults do not affect other plugins.
func (r *report) entry(v *value, i int, root string, c Client, seen map[string]int) Offer {
	own, field := &report{}, fmt.Sprintf("plugins[%d]", i)
	e := Offer{Strict: true, Skipped: true, Span: Span{v.at, v.end}}
	if v.kind != object {
		r.add(RuleMarketEntry, Skips, v, field, "write an object with name and source", "a plugin is %s and not an object", kindNames[v.kind])
		return e
	}
	name := v.get("name")
	e.Name, e.Description, e.Version = name.string(), v.get("description").string(), v.get("version").string()
	e.Strict, e.Installation = v.get("strict").bool(true), v.get("policy").get("installation").string()
	if strict := v.get("strict"); strict != nil {
		e.StrictAt = Span{strict.at, strict.end}
		if strict.kind != boolean {
			own.add(RuleMarketEntry, Skips, strict, field+".strict", "write true or false", "strict is %s", kindNames[strict.kind])
		}
	}
	before, twice := seen[e.Name]
	switch {
	case name.string() == "":
		own.add(RuleMarketEntry, Skips, v, field+".name", `write "name": "…"`, "a plugin has no name")
	case !isFolderName(e.Name) || strings.ContainsAny(e.Name, "@ "):
		own.add(RuleMarketEntry, Skips, name, field+".name", nameFix(e.Name), "the name %s cannot be the name of a folder or stand before @", display.Quote(e.Name))
	case twice:
		own.add(RuleMarketTwice, Ignores, name, field+".name", "give it another name, or delete one of the two", "plugins[%[2]d] has the name %[1]s too, and clients install one of them", display.Quote(e.Name), before)
	case !isName(e.Name):
		own.add(RuleMarketEntry, Ignores, name, field+".name", nameFix(e.Name), "the name %s", nameFault(e.Name))
	}
	if e.Name != "" && !twice {
		seen[e.Name] = i
	}
	if name != nil {
		e.Span = Span{name.at, name.end}
	}
	if e.Installation != "" && !slices.Contains(installations, e.Installation) {
		own.add(RuleMarketEntry, Ignores, v.get("policy").get("installation"), field+".policy.installation", "write AVAILABLE, NOT_AVAILABLE or INSTALLED_BY_DEFAULT", "Codex knows no installation policy %s", display.Quote(e.Installation))
	}
	for _, part := range components {
		if p := v.get(part); p != nil {
			e.Components = append(e.Components, part)
			paths, at := own.paths(p, field+"."+part, c)
			if part == "skills" {
				e.Skills, e.SkillsAt = paths, at
			}
		}
	}
	e.Source = own.source(v.get("source"), v, field+".source", root, c)
	e.Skipped = own.worst(Skips)
	for _, f := range own.faults {
		f.Effect = min(f.Effect, Skips) // a fault affects the entry, not the marketplace
		r.put(f)
	}
	return e
}

var installations = []string{"AVAILABLE", "NOT_AVAILABLE", "INSTALLED_BY_DEFAULT"}

// source reads the source of a plugin. root is the folder to which bare names are relative.
func (r *report) source(v, entry *value, field, root string, c Client) Source {
	bad := func(at *value, field, fix, format string, args ...any) Source {
		r.add(RuleMarketSource, Skips, at, field, fix, format, args...)
		return Source{}
	}
	switch {
	case v == nil:
		return bad(entry, field, `write "source": "./plugins/…"`, "a plugin has no source")
	case v.kind == text:
		return r.local(v, v, field, root, c)
	case v.kind != object:
		return bad(v, field, `write "source": "./plugins/…"`, "source is %s, and must be a path or an object", kindNames[v.kind])
	}
	s := Source{Kind: Kind(v.get("source").string()), Span: Span{v.at, v.end}}
	known, ok := sourceFields[s.Kind]
	switch {
	case s.Kind == Command:
		r.add(RuleMarketCommand, Skips, v, field, "publish the plugin in a repository, and name it as github, url or git-subdir", "the source runs a program on the machine of each user; knack never follows it, and clients other than Claude Code cannot")
		return Source{Kind: Command, Span: s.Span}
	case !ok:
		kinds := []string{"github", "url", "git-subdir", "npm", "archive", "local"}
		fix := "write one of github, url, git-subdir, npm, archive and local"
		if near := typo.Nearest(string(s.Kind), kinds); near != "" {
			fix = `write "` + near + `"`
		}
		return bad(v, field+".source", fix, "there is no kind of source %s", display.Quote(string(s.Kind)))
	}
	for _, required := range known[0] {
		if v.get(required).string() == "" {
			return bad(v, field+"."+required, `write "`+required+`": "…"`, "a source of the kind %s needs %s", s.Kind, required)
		}
	}
	for _, optional := range known[1] {
		if o := v.get(optional); o != nil && o.kind != text {
			return bad(o, field+"."+optional, "write a string, or delete it", "%s is %s and not a string", optional, kindNames[o.kind])
		}
	}
	if s.Kind == Local {
		return r.local(v.get("path"), v, field+".path", root, c)
	}
	s.Repo, s.URL, s.Ref, s.SHA = v.get("repo").string(), v.get("url").string(), v.get("ref").string(), v.get("sha").string()
	s.Package, s.Version, s.Registry, s.SHA256 = v.get("package").string(), v.get("version").string(), v.get("registry").string(), v.get("sha256").string()
	if s.Kind == Git && strings.HasPrefix(s.URL, "./") && c == Codex {
		r.add(RuleMarketSource, Notes, v.get("url"), field+".url", `write {"source": "local", "path": "…"}`, "a path in url is read by Codex alone")
		return r.local(v.get("url"), v, field+".url", root, c)
	}
	s.Path = "."
	if p := v.get("path"); p != nil {
		clean, ok := Clean(p.text)
		if !ok {
			r.add(RuleMarketPath, Skips, p, field+".path", "write a path below the repository", "the path %s leads out of the repository", display.Quote(p.text))
			return Source{}
		}
		s.Path = clean
	}
	if fault, at, fix := s.fault(v); fault != "" {
		return bad(v.get(at), field+"."+at, fix, "%s", fault)
	}
	if pin := map[Kind]string{GitHub: "sha", Git: "sha", Subdir: "sha", NPM: "version", Archive: "sha256"}[s.Kind]; v.get(pin) == nil {
		r.add(RuleMarketPin, Notes, v, field+"."+pin, "add "+pin, "without %s, the plugin can change under the same marketplace", pin)
	}
	return s
}

// fault returns the fault of a source outside of the marketplace, the faulty field and the fix.
func (s Source) fault(v *value) (fault, at, fix string) {
	if owner, name, ok := strings.Cut(s.Repo, "/"); s.Kind == GitHub && (!ok || !isFolderName(owner) || !isFolderName(name)) {
		return fmt.Sprintf("repo %s is not OWNER/NAME", display.Quote(s.Repo)), "repo", `write "repo": "owner/name"`
	}
	for _, at := range []string{"url", "registry"} {
		raw := v.get(at).string()
		if raw == "" || at == "url" && s.Kind != Archive && isGitURL(raw) {
			continue
		}
		if u, err := url.Parse(raw); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
			return fmt.Sprintf("%s %s is not the URL of a public place", at, display.Quote(display.RedactURI(raw))), at, "write https://…, without a user or password"
		} else if u.Scheme == "http" && !hosts.IsLoopback(u.Hostname()) {
			return at + " is not encrypted", at, "write https://"
		}
	}
	if s.SHA != "" && !isHex(s.SHA, 40) {
		return fmt.Sprintf("sha %s is not a commit of 40 hexadecimal digits", display.Quote(s.SHA)), "sha", "write the whole commit: git rev-parse HEAD prints it"
	}
	if digest := strings.TrimPrefix(s.SHA256, "sha256:"); s.SHA256 != "" && !isHex(digest, 64) {
		return "sha256 is not a digest of 64 hexadecimal digits", "sha256", "write the digest that sha256sum prints"
	}
	if strings.HasPrefix(s.Ref, "-") {
		return fmt.Sprintf("ref %s would be an option of git", display.Quote(s.Ref)), "ref", "write a branch or a tag"
	}
	if name := strings.TrimPrefix(s.Package, "@"); s.Kind == NPM && (!isFolderName(path.Base(name)) || strings.Count(name, "/") != len(s.Package)-len(name) || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "..")) {
		return fmt.Sprintf("package %s is not the name of an npm package", display.Quote(s.Package)), "package", `write "package": "@scope/name"`
	}
	return "", "", ""
}

// isGitURL reports whether a text names a repository without https: by ssh, or as OWNER/NAME of
// GitHub.
func isGitURL(raw string) bool {
	if strings.HasPrefix(raw, "ssh://") || strings.HasPrefix(raw, "git@") && strings.Contains(raw, ":") {
		return true
	}
	owner, name, ok := strings.Cut(raw, "/")
	return ok && isFolderName(owner) && isFolderName(name)
}

func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// local reads a path below the marketplace. A path that begins with ./ is relative to the
// marketplace, and any other path to root.
func (r *report) local(p, v *value, field, root string, c Client) Source {
	clean, ok := Clean(p.text)
	switch {
	case strings.Contains(p.text, "://") || strings.HasPrefix(p.text, "git@"):
		r.add(RuleMarketSource, Skips, p, field, `write an object: {"source": "url", "url": "…"}`, "source is a URL, and a string is a path in the marketplace")
		return Source{}
	case !ok:
		r.add(RuleMarketPath, Skips, p, field, "write a path below the marketplace, such as ./plugins/x", "the path %s leads out of the marketplace, and no client may follow it", display.Quote(p.text))
		return Source{}
	case !strings.HasPrefix(p.text, "./"):
		if c == Claude && root == "." && clean != "." {
			r.add(RuleMarketSource, Ignores, p, field, `write "./`+display.Echo(clean)+`"`, "the path %s does not begin with ./, as Claude Code asks", display.Quote(p.text))
		}
		clean = path.Join(root, clean)
	}
	return Source{Kind: Local, Path: clean, Span: Span{v.at, v.end}}
}
