package origin

import (
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/hosts"
	"github.com/knack-dev/knack/internal/distribution/reference"
	"github.com/knack-dev/knack/skill"
)

// cutGit splits the text after a scheme into repository, folder and reference. The folder follows
// //. The reference follows the first @ that is not at the start of a part of the path. It may
// contain a further @, as in pkg@1.0.0.
func cutGit(text string) (base, sub, want string) {
	for i := 1; i < len(text); i++ {
		if text[i] == '@' && text[i-1] != '/' {
			text, want = text[:i], text[i+1:]
			break
		}
	}
	base, sub, _ = strings.Cut(text, "//")
	return base, strings.Trim(sub, "/"), want
}

const gitFix = "write OWNER/REPO, HOST/PATH, git@HOST:PATH or ssh://git@HOST/PATH; then //FOLDER and @REFERENCE if you mean one"

// parseGit parses the address of a repository at https, http or ssh. Without a scheme, it may be a
// repository at GitHub.
func parseGit(scheme, text string) (Ref, error) {
	host, rest, ok := strings.Cut(text, "/")
	user, host, hasUser := cutUser(host)
	switch {
	case hasUser && !ok: // NAME@REF
		return Ref{}, refuse("write OWNER/REPO@REFERENCE; a folder is written with ./ in front", "the source names no owner")
	case hasUser && (scheme != "ssh" || strings.Contains(user, ":")):
		return Ref{}, errUser()
	case hasUser && !plainUser(user):
		return Ref{}, refuse(gitFix, "the user name in the ssh: address is not valid")
	case !ok || rest == "":
		if strings.Contains(host, ".") {
			return Ref{}, refuse("a site is written with https:// in front, and a folder with ./", "the source names a host and no repository")
		}
		return Ref{}, refuse("for example acme/skills, or ./skills for a folder here; "+forms, "a name alone is not a source")
	}
	base, sub, want := cutGit(rest)
	if strings.HasSuffix(rest, "@") {
		return Ref{}, refuse("write a branch, tag or commit behind the @, or leave it out", "the reference is empty")
	}
	if scheme == "" && !strings.ContainsAny(host, ".:") && !hosts.IsLocal(host) { // OWNER/REPO[/SUB]
		return github(host, base, sub, want)
	}
	if scheme == "" && (slices.Contains(registries, strings.ToLower(host)) || strings.Contains(path.Base(base), ":")) {
		return Ref{}, refuse("write oci:// in front", "the source looks like an image of a registry")
	}
	if scheme == "" && isArchive(base) && !slices.Contains(forges, strings.ToLower(host)) {
		return Ref{}, refuse("write https:// in front for an archive, or ./ for a file", "the source looks like an archive")
	}
	host = strings.ToLower(host)
	if reference.IsOddAddress(host) {
		return Ref{}, errOddAddress()
	}
	if !isHost(host) {
		return Ref{}, refuse(gitFix, "the source names no host")
	}
	if host == "github.com" && scheme != "ssh" {
		owner, repo, _ := strings.Cut(base, "/")
		return github(owner, repo, sub, want)
	}
	base = strings.Trim(base, "/")
	if slices.Contains(forges, host) {
		base = strings.TrimSuffix(base, ".git")
		if strings.HasSuffix(base, ".git") {
			return Ref{}, refuse(gitFix, "the path of the repository is not plain")
		}
	}
	if scheme == "http" && !hosts.IsLocal(hostOnly(host)) {
		return Ref{}, refuse("write https://", "http is not used except to this machine, since any machine on the way could change the bytes")
	}
	if err := plainPath(base); err != nil || strings.ContainsAny(base, "?# ") {
		return Ref{}, refuse(gitFix, "the path of the repository is not plain")
	}
	r := Ref{Kind: Git, Source: host + "/" + base, Location: "https://" + host + "/" + base}
	if _, err := url.Parse(r.Location); err != nil {
		return Ref{}, refuse(gitFix, "the path of the repository is not plain")
	}
	switch {
	case scheme == "ssh":
		at := host
		if hasUser {
			at = user + "@" + host
		}
		r.Source = "ssh://" + at + "/" + base
		r.Location = r.Source
	case scheme == "http":
		r.Location = "http://" + host + "/" + base
		r.Source = "git+" + r.Location
	case !strings.ContainsAny(host, ".:"), host[0] == '[', isScheme(host), isArchive(base) && !slices.Contains(forges, host), slices.Contains(registries, host), strings.Contains(path.Base(base), ":"):
		r.Source = "git+" + r.Location // without the scheme, Parse would read another kind of source
	}
	return finish(r, sub, want)
}

// isScheme reports whether a host with a port looks like the beginning of a source with a scheme.
func isScheme(host string) bool {
	name, _, _ := strings.Cut(host, ":")
	return slices.Contains([]string{"file", "oci", "mcp", "http", "https", "ssh"}, name)
}

func hostOnly(host string) string {
	u, err := url.Parse("http://" + host)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// cutUser splits USER@HOST into the user name and the host.
func cutUser(host string) (user, rest string, ok bool) {
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		return host[:i], host[i+1:], true
	}
	return "", host, false
}

// plainUser reports whether a user name is plain, such as git, and no secret.
func plainUser(user string) bool {
	for _, c := range user {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return user != "" && len(user) <= 64 && user[0] != '-'
}

// github reads OWNER and REPO[/SUB].
func github(owner, path, sub, want string) (Ref, error) {
	repo, below, _ := strings.Cut(strings.TrimRight(path, "/"), "/")
	repo = strings.TrimSuffix(repo, ".git")
	if below != "" {
		if sub != "" {
			return Ref{}, refuse("write OWNER/REPO//FOLDER", "the source names a folder twice")
		}
		sub = below
	}
	if !plainUser(owner) || !plainUser(strings.TrimLeft(repo, "-")) || repo[0] == '-' || repo == "." || repo == ".." || strings.HasSuffix(repo, ".git") {
		return Ref{}, refuse(forms, "an OWNER/REPO of GitHub has only letters, digits, '.', '_' and '-'")
	}
	return finish(Ref{Kind: Git, Source: "github.com/" + owner + "/" + repo, Location: "https://github.com/" + owner + "/" + repo}, sub, want)
}

// parseSCP reads git@HOST:PATH.
func parseSCP(text string) (Ref, error) {
	before, rest, _ := strings.Cut(text, ":")
	user, host, _ := cutUser(before)
	if !plainUser(user) || !isHost(host) {
		return Ref{}, refuse(gitFix, "the source is not of the form git@HOST:PATH")
	}
	if reference.IsOddAddress(host) {
		return Ref{}, errOddAddress()
	}
	base, sub, want := cutGit(rest)
	base = strings.TrimRight(base, "/")
	if strings.HasSuffix(rest, "@") || base == "" || strings.HasPrefix(base, "-") || plainPath(strings.TrimPrefix(base, "/")) != nil {
		return Ref{}, refuse(gitFix, "the path of the repository is not plain")
	}
	at := user + "@" + strings.ToLower(host) + ":" + base
	return finish(Ref{Kind: Git, Source: at, Location: at}, sub, want)
}

// parseGitFile reads git+file:///PATH.
func parseGitFile(rest string) (Ref, error) {
	const fix = "write git+file:///PATH"
	rest, ok := strings.CutPrefix(rest, "//")
	if !ok || !strings.HasPrefix(rest, "/") {
		return Ref{}, refuse(fix, "the git+file: source has no absolute path")
	}
	base, sub, want := cutGit(rest[1:])
	base = strings.TrimRight(base, "/")
	at := "/" + base
	if filepath.Separator == '\\' {
		at = filepath.FromSlash(base)
	}
	if strings.HasSuffix(rest, "@") || base == "" || plainPath(base) != nil || strings.ContainsAny(base, "?#%") {
		return Ref{}, refuse(fix, "the path of the git+file: source is not plain")
	}
	return finish(Ref{Kind: Git, Source: "git+file:///" + base, Location: at}, sub, want)
}

func finish(r Ref, sub, want string) (Ref, error) {
	r.Sub, r.Want = strings.Trim(sub, "/"), want
	if err := checkSub(r.Sub); err != nil {
		return Ref{}, err
	}
	if want == "" {
		return r, nil
	}
	return r, CheckWant(want)
}

// plainPath refuses a path with an empty part, ".", "..", or a part that begins with a hyphen. It
// also refuses a path that ends with @, which would be read as an empty reference.
func plainPath(p string) error {
	if strings.HasSuffix(p, "@") {
		return refuse(gitFix, "the path is not plain")
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." || part[0] == '-' || strings.Contains(part, `\`) || strings.ContainsFunc(part, unsafe) {
			return refuse(gitFix, "the path is not plain")
		}
	}
	return nil
}

func checkSub(sub string) error {
	if sub == "" {
		return nil
	}
	_, _, want := cutGit(sub)
	if want != "" || plainPath(sub) != nil || !utf8.ValidString(sub) {
		return refuse("write its path within the source: skills/pdf", "the folder of the source is not a plain path")
	}
	return nil
}

// CheckWant refuses references that git forbids (git-check-ref-format), and texts that could be
// read as an option or as another reference.
func CheckWant(want string) error {
	bad := want == "" || len(want) > 255 || want[0] == '-' || want[0] == '/' || strings.HasSuffix(want, "/") || strings.HasSuffix(want, ".") ||
		strings.HasSuffix(want, ".lock") || strings.ContainsAny(want, " ~^:?*[\\") || strings.Contains(want, "..") ||
		strings.Contains(want, "@{") || strings.Contains(want, "//") || strings.ContainsFunc(want, unsafe) || !utf8.ValidString(want) || strings.HasSuffix(want, "@") // an @ at the end is an empty reference
	if bad {
		return refuse("write a branch, tag or commit as git names it", "the reference behind the @ is not the name of a branch, tag or commit")
	}
	return nil
}

// parsePasted reads the address of a folder or file on the pages of GitHub and GitLab. pasted is
// false for any other address.
func parsePasted(u *url.URL) (r Ref, pasted bool, err error) {
	parts := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	at := slices.IndexFunc(parts, func(p string) bool { return p == "tree" || p == "blob" })
	if at < 2 || at+1 >= len(parts) {
		return Ref{}, false, nil
	}
	repo := parts[:at]
	switch {
	case repo[at-1] == "-" && at >= 3: // GitLab
		repo = repo[:at-1]
	case at != 2:
		return Ref{}, false, nil
	}
	rest := parts[at+1:]
	for i, p := range rest {
		if rest[i], err = url.PathUnescape(p); err != nil || i > 0 && strings.Contains(rest[i], "/") {
			return Ref{}, true, refuse(gitFix, "the path of the address is not plain")
		}
	}
	sub := rest[1:]
	if parts[at] == "blob" {
		if len(sub) == 0 || !skill.IsEntryName(sub[len(sub)-1]) {
			return Ref{}, true, refuse("paste the address of the folder or of its SKILL.md", "the address leads to a file that is not a SKILL.md")
		}
		sub = sub[:len(sub)-1]
	}
	r, err = parseGit(u.Scheme, u.Host+"/"+strings.Join(repo, "/"))
	if err != nil {
		return Ref{}, true, err
	}
	if r.Sub != "" || r.Want != "" {
		return Ref{}, true, refuse(gitFix, "the path of the address is not plain")
	}
	r, err = finish(r, strings.Join(sub, "/"), rest[0])
	return r, true, err
}
