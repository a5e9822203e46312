package origin

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/hosts"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/internal/distribution/reference"
	"github.com/knack-dev/knack/skill"
)

// RefError is the error of a text that is not a source, with the fix. It never quotes a part of the
// text that may be a secret.
type RefError struct {
	Message string
	Fix     string
}

// Error returns the message.
func (e *RefError) Error() string { return e.Message }

func refuse(fix, format string, args ...any) error {
	return &RefError{fmt.Sprintf(format, args...), fix}
}

// maxRef bounds the text of a source, in bytes.
const maxRef = 4096

// forges are the hosts at which a URL names a repository even without .git at its end.
var forges = []string{"github.com", "gitlab.com", "codeberg.org", "bitbucket.org"}

// registries are the hosts of images at which no URL names a git repository.
var registries = []string{"ghcr.io", "docker.io", "quay.io", "registry.gitlab.com", "public.ecr.aws"}

// forms is the fix for a text in no known form.
const forms = "write OWNER/REPO for GitHub, HOST/PATH for another git server, ./FOLDER, oci://REGISTRY/REPO, npm:NAME, mcp:https://HOST/mcp, or the https:// address of an archive or a site"

// Parse reads a source as a person writes it. dir is the base of relative paths, and home the
// user's home folder, or "". An error is a [*RefError]. Parse does not read the disk: a path with
// the extension of an archive is an archive, and a folder of such a name needs a slash at its end.
func Parse(text, dir, home string) (Ref, error) {
	r, err := Ref{}, error(nil)
	if len(text) <= maxRef {
		r, err = parse(text, dir, home)
	}
	if len(text) > maxRef || len(r.String()) > maxRef { // the spelling of a lock can be longer
		return Ref{}, refuse(forms, "the source has more than %d bytes", maxRef)
	}
	return r, err
}

func parse(text, dir, home string) (Ref, error) {
	switch {
	case text == "":
		return Ref{}, refuse(forms, "the source is empty")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unsafe):
		return Ref{}, refuse("write it again by hand", "the source has control or invisible characters in it, or is not UTF-8")
	case text[0] == '-':
		return Ref{}, refuse("a folder of this name is written with ./ in front", "a source cannot begin with a hyphen")
	case strings.HasPrefix(text, "//") && filepath.Separator == '/': // the text may have a password; on Windows, it is a network folder
		return Ref{}, refuse("write https:// in front of a server, or one slash in front of a folder", "a source cannot begin with two slashes")
	case text[0] == '.' && !isLocal(text):
		return Ref{}, refuse("write ./ in front of a folder", "the name of an owner or a host cannot begin with a dot")
	case text[0] == '@' && strings.Contains(text, "/"):
		return Ref{}, refuse("write npm: in front", "this is a package of npm")
	case isLocal(text):
		return parseLocal(text, dir, home)
	}
	text = reference.Normal(text)
	scheme, rest, ok := strings.Cut(text, ":")
	repo, _, _ := cutGit(text)
	switch scheme = strings.ToLower(scheme); {
	case !ok && strings.Contains(repo, "#"):
		return Ref{}, refuse("write @ instead of #, as in OWNER/REPO@REF", "a branch, tag or commit is not written behind #")
	case !ok:
		return parseGit("", text)
	case scheme == "file":
		return parseFile(rest, dir, home)
	case scheme == "oci":
		return parseOCI(rest)
	case scheme == "mcp":
		return parseMCP(rest)
	case scheme == "npm":
		return parseNPM(rest)
	case scheme == "https", scheme == "http":
		return parseWeb(scheme, rest)
	case strings.HasPrefix(rest, "//") && (scheme == "ssh" || scheme == "git+ssh"):
		return parseGit("ssh", rest[len("//"):])
	case strings.HasPrefix(rest, "//") && (scheme == "git+https" || scheme == "git+http"):
		return parseGit(strings.TrimPrefix(scheme, "git+"), rest[len("//"):])
	case scheme == "git+file":
		return parseGitFile(rest)
	case strings.Contains(scheme, "/"), startsWithPort(rest):
		return parseGit("", text) // HOST:PORT/PATH, or OWNER/REPO@a:b
	case strings.Contains(scheme, "@"):
		return parseSCP(text)
	case strings.Contains(rest, "@") && !strings.HasPrefix(rest, "//"): // USER:PASSWORD@HOST
		return Ref{}, errUser()
	}
	return Ref{}, refuse("for git over ssh write git@HOST:PATH; else "+forms, "'%s:' is no kind of source that is known", short(scheme))
}

// Locked parses the source and the requested reference of an entry of the lock in dir.
func Locked(source, want, dir, home string) (Ref, error) {
	r, err := Parse(source, dir, home)
	switch {
	case err != nil:
		return Ref{}, err
	case r.Sub != "" || r.Want != "" || r.Digest != "":
		return Ref{}, refuse("remove the skill and add it again", "the source in the lock has a folder or a reference in it")
	case want == "":
		return r, nil
	case r.Kind == OCI:
		tag, digest, _ := strings.Cut(want, "@")
		if strings.HasPrefix(want, "sha256:") {
			tag, digest = "", want
		}
		return ociRef(r, tag, digest)
	case r.Kind == NPM:
		return npmRef(r, want)
	case r.Kind == Git:
		r.Want = want
		return r, CheckWant(want)
	}
	return Ref{}, refuse("remove the skill and add it again", "the lock asks for a reference of a source that has none")
}

// Asked returns the reference as a lock records it, or "".
func (r Ref) Asked() string {
	if r.Want != "" && r.Digest != "" {
		return r.Want + "@" + r.Digest
	}
	return r.Want + r.Digest
}

// String returns the normal spelling of the source, which [Parse] reads as the same source.
func (r Ref) String() string {
	s := r.Source
	if r.Sub != "" {
		s += "//" + r.Sub
	}
	if r.Want != "" {
		if r.Kind == OCI {
			s += ":" + r.Want
		} else {
			s += "@" + r.Want
		}
	}
	if r.Digest != "" {
		s += "@" + r.Digest
	}
	return s
}

// Below returns the source in the spelling of a lock in dir. A path below dir is relative to dir,
// and a path below home begins with ~.
func (r Ref) Below(dir, home string) Ref {
	if (r.Kind == Folder || r.Kind == Archive) && filepath.IsAbs(r.Location) {
		r.Source = spellPath(r.Location, dir, home)
		if r.Kind == Folder && isArchive(r.Source) {
			r.Source += "/"
		}
	}
	return r
}

func spellPath(path, dir, home string) string {
	for _, base := range []struct{ dir, as string }{{dir, "."}, {home, "~"}} {
		if base.dir == "" || base.dir == filepath.Dir(base.dir) {
			continue
		}
		rel, err := filepath.Rel(base.dir, path)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			continue
		}
		if rel == "." {
			return base.as
		}
		return base.as + "/" + filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// unsafe reports whether a source must not have the character: a control character, or one that
// hides or reorders text.
func unsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' || r == utf8.RuneError
}

// short shortens a word of a text for a message.
func short(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

func isLocal(text string) bool {
	if filepath.IsAbs(text) || text[0] == '/' || text == "." || text == ".." || text == "~" {
		return true
	}
	for _, prefix := range []string{"./", "../", "~/", `.\`, `..\`, `~\`} {
		if strings.HasPrefix(text, prefix) {
			return prefix[len(prefix)-1] == '/' || filepath.Separator == '\\'
		}
	}
	return false
}

func isArchive(path string) bool {
	path = strings.ToLower(path)
	return slices.ContainsFunc([]string{".zip", ".skill", ".tar.gz", ".tgz"}, func(suffix string) bool { return strings.HasSuffix(path, suffix) })
}

func parseLocal(text, dir, home string) (Ref, error) {
	path := filepath.FromSlash(text)
	if text[0] == '~' {
		if home == "" {
			return Ref{}, refuse("write the whole path", "the home folder is not known, so ~ is no path")
		}
		path = filepath.Join(home, path[1:])
	}
	if !filepath.IsAbs(path) {
		if dir == "" {
			return Ref{}, refuse("write the whole path", "the working directory is not known, so a relative path leads nowhere")
		}
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	r := Ref{Kind: Folder, Source: filepath.ToSlash(path), Location: path}
	switch {
	case isArchive(text):
		r.Kind = Archive
	case isArchive(path):
		r.Source += "/"
	}
	return r, nil
}

func parseFile(rest, dir, home string) (Ref, error) {
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		after = strings.TrimPrefix(after, "localhost")
		path, err := url.PathUnescape(after)
		// After two slashes, there may be a host with a password.
		if err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsFunc(path, unsafe) || !utf8.ValidString(path) {
			return Ref{}, refuse("write file:///PATH, or the path alone", "the file: address names no path of this machine")
		}
		if filepath.Separator == '\\' { // file:///C:/x
			path = strings.TrimPrefix(path, "/")
		}
		rest = path
	}
	if rest == "" || !isLocal(rest) {
		return Ref{}, refuse("write file:///PATH, or ./PATH", "the file: address names no path of this machine")
	}
	return parseLocal(rest, dir, home)
}

var ociTag = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

func parseOCI(rest string) (Ref, error) {
	const fix = "write oci://REGISTRY/REPOSITORY, then :TAG or @sha256:DIGEST if you mean one"
	rest, ok := strings.CutPrefix(rest, "//")
	host, path, slash := strings.Cut(rest, "/")
	if strings.Contains(host, "@") {
		return Ref{}, errUser()
	}
	if reference.IsOddAddress(host) {
		return Ref{}, errOddAddress()
	}
	if !ok || !slash || !isHost(host) {
		return Ref{}, refuse(fix, "the oci: source names no registry and repository")
	}
	path, digest, has := strings.Cut(path, "@")
	path, tag, tagged := strings.Cut(path, ":")
	if len(path) > 255 || !reference.IsRepository(path) {
		return Ref{}, refuse(fix, "the repository of the oci: source is not a name of small letters, digits, '.', '_' and '-'")
	}
	if has && digest == "" || tagged && tag == "" {
		return Ref{}, refuse(fix, "the tag or digest of the oci: source is empty")
	}
	r := Ref{Kind: OCI, Source: "oci://" + host + "/" + path}
	r.Location = r.Source
	return ociRef(r, tag, digest)
}

func ociRef(r Ref, tag, digest string) (Ref, error) {
	if tag != "" && !ociTag().MatchString(tag) {
		return Ref{}, refuse("a tag has letters, digits, '.', '_' and '-'", "the tag of the oci: source is not valid")
	}
	if digest != "" {
		if _, err := skill.ParseDigest(digest); err != nil {
			return Ref{}, refuse("a digest is sha256: and 64 small hexadecimal digits", "the digest of the oci: source is not valid")
		}
	}
	r.Want, r.Digest = tag, digest
	return r, nil
}

func parseMCP(rest string) (Ref, error) {
	u, err := parseURL(rest)
	if err != nil {
		return Ref{}, err
	}
	return Ref{Kind: MCP, Source: "mcp:" + u.String(), Location: u.String()}, nil
}

var (
	npmName    = lazyregexp.New(`^(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*$`)
	npmVersion = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)
)

// parseNPM reads [REGISTRY//]NAME[@VERSION], with the name and the version in npm's form.
func parseNPM(rest string) (Ref, error) {
	const fix = "write npm:NAME or npm:@SCOPE/NAME, then @VERSION if you mean one"
	registry := ""
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		at, name, ok := strings.Cut(after, "//")
		u, err := parseURL(scheme + "://" + at)
		if err != nil || !ok {
			return Ref{}, cmp.Or(err, refuse(fix, "the npm: source names a registry and no package"))
		}
		registry, rest = u.String()+"//", name
	}
	name, want := rest, ""
	if i := strings.LastIndexByte(rest, '@'); i > 0 {
		if name, want = rest[:i], rest[i+1:]; want == "" {
			return Ref{}, refuse(fix, "the version of the npm: source is empty")
		}
	}
	if len(name) > 214 || !npmName().MatchString(name) {
		return Ref{}, refuse(fix, "the npm: source names no package")
	}
	return npmRef(Ref{Kind: NPM, Source: "npm:" + registry + name, Location: "npm:" + registry + name}, want)
}

func npmRef(r Ref, want string) (Ref, error) {
	if want != "" && (len(want) > 128 || !npmVersion().MatchString(want)) {
		return Ref{}, refuse("write one version, as 1.2.0, or a tag, as latest", "the version of the npm: source is neither a version nor a tag")
	}
	r.Want = want
	return r, nil
}

func errUser() error {
	return refuse("leave it out; git's credential helpers, docker login and the system's keys are used instead",
		"the source has a user name or a password in it, and sources are written into logs and locks")
}

func errOddAddress() error {
	return refuse("write all of its numbers, as in 127.0.0.1", "the host of the source is an IP address in a short or odd spelling")
}

// parseURL reads an https address without secrets in it. It accepts http only to this machine.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil && strings.Contains(text, "@"): // it may have a password that cannot be parsed
		return nil, errUser()
	case err != nil || u.Opaque != "" || !isHost(u.Host) || u.Scheme != "https" && u.Scheme != "http":
		return nil, refuse("write https://HOST/PATH", "the address is not an https:// address")
	case u.User != nil:
		return nil, errUser()
	case reference.IsOddAddress(u.Host):
		return nil, errOddAddress()
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(text, "#"):
		return nil, refuse("leave it out (a branch, tag or commit is written behind @); or download the file and name it as ./FILE", "the address has a part after ? or #, which may be a secret, and sources are written into logs and locks")
	case u.Scheme == "http" && !hosts.IsLocal(u.Hostname()):
		return nil, refuse("write https://", "http is not used except to this machine, since any machine on the way could change the bytes")
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if part == "." || part == ".." {
			return nil, refuse("write the address without . and ..", "the path of the address has a part that is . or ..")
		}
	}
	if u.RawPath != u.EscapedPath() && strings.Contains(strings.ToLower(u.RawPath), "%2f") { // %2F would become a slash
		return nil, refuse("write its special characters as % and two digits", "the path of the address is not valid in a URL")
	}
	if strings.ContainsFunc(u.Path, unsafe) || !utf8.ValidString(u.Path) || strings.Contains(u.Path, `\`) {
		return nil, refuse("write it again by hand", "the path of the address has control characters or backslashes in it")
	}
	u.Host = strings.ToLower(u.Host)
	setPath(u, strings.TrimRight(u.EscapedPath(), "/"))
	return u, nil
}

// setPath sets the path of a URL from its escaped form. A slash that is written as %2F stays
// escaped.
func setPath(u *url.URL, escaped string) {
	u.Path, _ = url.PathUnescape(escaped)
	u.RawPath = escaped
}

var hostName = lazyregexp.New(`^(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$`)

func isHost(host string) bool { return len(host) <= 255 && hostName().MatchString(host) }

// startsWithPort reports whether the text after a colon is the port of HOST:PORT/PATH.
func startsWithPort(rest string) bool {
	port, _, ok := strings.Cut(rest, "/")
	return ok && port != "" && len(port) <= 5 && strings.Trim(port, "0123456789") == ""
}

// ofPage returns the address of a forge's page without the parts that only its browser uses, such
// as ?tab=readme-ov-file and #usage. It returns any other address unchanged.
func ofPage(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.RawQuery == "" && u.Fragment == "" {
		return text
	}
	if !slices.Contains(forges, strings.ToLower(u.Host)) && !strings.Contains(u.Path, "/-/tree/") && !strings.Contains(u.Path, "/-/blob/") {
		return text
	}
	for key := range u.Query() {
		if !slices.Contains([]string{"tab", "plain", "ref_type", "path"}, key) {
			return text
		}
	}
	before, _, _ := strings.Cut(text, "#")
	before, _, _ = strings.Cut(before, "?")
	return before
}

// parseWeb reads an http or https address: a repository, an archive, or a site with an index.
func parseWeb(scheme, rest string) (Ref, error) {
	rest, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return Ref{}, refuse("write https://HOST/PATH", "the address is not an https:// address")
	}
	text := ofPage(scheme + "://" + rest)
	_, rest, _ = strings.Cut(text, "://")
	u, err := parseURL(text)
	if err != nil {
		return Ref{}, err
	}
	if r, pasted, err := parsePasted(u); pasted {
		return r, err
	}
	isForge := slices.Contains(forges, u.Host)
	base, sub, want := cutGit(rest)
	_, path, _ := strings.Cut(base, "/")
	switch {
	case isArchive(u.Path):
		return Ref{Kind: Archive, Source: u.String(), Location: u.String()}, nil
	case isArchive(path):
		return Ref{}, refuse("add it without the folder, and choose with --skill NAME", "a folder within an archive cannot be named")
	case strings.HasSuffix(strings.TrimRight(path, "/"), ".git"), isForge, sub != "":
		return parseGit(scheme, rest)
	case want != "":
		return Ref{}, refuse("for a repository leave out https://, or write .git at its end", "the address has a reference in it, but is not the address of a repository")
	}
	for before := "-"; before != u.Path; { // a name may occur twice, and Parse of the result must return the same
		before = u.Path
		for _, index := range []string{"/index.json", "/agent-skills", "/skills", "/.well-known"} {
			at, ok := strings.CutSuffix(u.EscapedPath(), index)
			if ok && (index == "/.well-known" || strings.Contains(at, "/.well-known")) && !isArchive(at) && !strings.HasSuffix(at, ".git") {
				setPath(u, at)
			}
		}
	}
	return Ref{Kind: WellKnown, Source: u.String(), Location: u.String()}, nil
}
