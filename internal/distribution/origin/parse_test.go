package origin

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const digest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func git(source, location, sub, want string) Ref {
	return Ref{Kind: Git, Source: source, Location: location, Sub: sub, Want: want}
}

func oci(source, want, digest string) Ref {
	return Ref{Kind: OCI, Source: source, Location: source, Want: want, Digest: digest}
}

func at(kind Kind, source, location string) Ref {
	return Ref{Kind: kind, Source: source, Location: location}
}

// refForms lists every form of a source. text is the text that a person writes in /srv/p. want has
// the spelling of a lock in /srv/p.
var refForms = []struct {
	text string
	want Ref
}{
	{"./x", at(Folder, "./x", "/srv/p/x")},
	{"https://github.com/acme/skills?tab=readme-ov-file#readme", git("github.com/acme/skills", "https://github.com/acme/skills", "", "")},
	{"https://gitlab.com/acme/skills/-/tree/main/pdf?ref_type=heads", git("gitlab.com/acme/skills", "https://gitlab.com/acme/skills", "pdf", "main")},
	{"https://github.com/acme/skills/blob/main/pdf/SKILL.md?plain=1#L3", git("github.com/acme/skills", "https://github.com/acme/skills", "pdf", "main")},
	{".", at(Folder, ".", "/srv/p")},
	{"./x/", at(Folder, "./x", "/srv/p/x")},
	{"./a b/ü", at(Folder, "./a b/ü", "/srv/p/a b/ü")},
	{"../x", at(Folder, "/srv/x", "/srv/x")},
	{"/x", at(Folder, "/x", "/x")},
	{"~", at(Folder, "~", "/home/u")},
	{"~/x", at(Folder, "~/x", "/home/u/x")},
	{"file:///x%20y", at(Folder, "/x y", "/x y")},
	{"file:/x", at(Folder, "/x", "/x")},
	{"file:./x", at(Folder, "./x", "/srv/p/x")},
	{"./x.zip", at(Archive, "./x.zip", "/srv/p/x.zip")},
	{"./x.ZIP", at(Archive, "./x.ZIP", "/srv/p/x.ZIP")},
	{"~/x.skill", at(Archive, "~/x.skill", "/home/u/x.skill")},
	{"/x.tar.gz", at(Archive, "/x.tar.gz", "/x.tar.gz")},
	{"file:///x.tgz", at(Archive, "/x.tgz", "/x.tgz")},
	{"./x.skill/", at(Folder, "./x.skill/", "/srv/p/x.skill")},

	{"oci://LOCALHOST:05901/acme/skills", oci("oci://localhost:5901/acme/skills", "", "")},
	{"oci://r.example.:443/acme/skills:v1", oci("oci://r.example/acme/skills", "v1", "")},
	{"git.example.:0443/acme/sk%69lls", git("git.example/acme/skills", "https://git.example/acme/skills", "", "")},
	{"git+http://localhost:080/acme", git("git+http://localhost/acme", "http://localhost/acme", "", "")},
	{"ssh://git@Git.Example:22/acme/skills", git("ssh://git@git.example/acme/skills", "ssh://git@git.example/acme/skills", "", "")},
	{"git@Git.Example.:acme/skills", git("git@git.example:acme/skills", "git@git.example:acme/skills", "", "")},
	{"https://Site.Example.:443/%7eann/a%2db.zip", at(Archive, "https://site.example/~ann/a-b.zip", "https://site.example/~ann/a-b.zip")},
	{"mcp:https://H.example:0443/mcp", at(MCP, "mcp:https://h.example/mcp", "https://h.example/mcp")},
	{"https://GitHub.com:443/acme/skills", git("github.com/acme/skills", "https://github.com/acme/skills", "", "")},

	{"acme/skills", git("github.com/acme/skills", "https://github.com/acme/skills", "", "")},
	{"acme/skills/skills/pdf", git("github.com/acme/skills", "https://github.com/acme/skills", "skills/pdf", "")},
	{"acme/skills@v1.2.0", git("github.com/acme/skills", "https://github.com/acme/skills", "", "v1.2.0")},
	{"acme/skills/a/b@feature/x", git("github.com/acme/skills", "https://github.com/acme/skills", "a/b", "feature/x")},
	{"acme/skills/@scope/b@@scope/b@1.0.0", git("github.com/acme/skills", "https://github.com/acme/skills", "@scope/b", "@scope/b@1.0.0")},
	{"acme/.github", git("github.com/acme/.github", "https://github.com/acme/.github", "", "")},
	{"github.com/acme/skills", git("github.com/acme/skills", "https://github.com/acme/skills", "", "")},
	{"github.com/acme/skills.git//a", git("github.com/acme/skills", "https://github.com/acme/skills", "a", "")},
	{"https://github.com/acme/skills", git("github.com/acme/skills", "https://github.com/acme/skills", "", "")},
	{"https://github.com/acme/skills.git@v1", git("github.com/acme/skills", "https://github.com/acme/skills", "", "v1")},
	{"gitlab.com/group/sub/repo//skills/pdf@main", git("gitlab.com/group/sub/repo", "https://gitlab.com/group/sub/repo", "skills/pdf", "main")},
	{"git.acme.example/team/repo", git("git.acme.example/team/repo", "https://git.acme.example/team/repo", "", "")},
	{"GIT.acme.example:8443/team/repo.git", git("git.acme.example:8443/team/repo.git", "https://git.acme.example:8443/team/repo.git", "", "")},
	{"https://git.acme.example/team/repo.git//s@v1", git("git.acme.example/team/repo.git", "https://git.acme.example/team/repo.git", "s", "v1")},
	{"https://git.acme.example/team/repo//s", git("git.acme.example/team/repo", "https://git.acme.example/team/repo", "s", "")},
	{"http://127.0.0.1:8080/r.git", git("git+http://127.0.0.1:8080/r.git", "http://127.0.0.1:8080/r.git", "", "")},
	{"git+http://localhost:8080/r@v1", git("git+http://localhost:8080/r", "http://localhost:8080/r", "", "v1")},
	{"git+https://intranet/r.git", git("git+https://intranet/r.git", "https://intranet/r.git", "", "")},
	{"ssh://git@git.acme.example:2222/team/repo.git//s@v1", git("ssh://git@git.acme.example:2222/team/repo.git", "ssh://git@git.acme.example:2222/team/repo.git", "s", "v1")},
	{"ssh://alias/team/repo", git("ssh://alias/team/repo", "ssh://alias/team/repo", "", "")},
	{"git@github.com:acme/skills.git", git("git@github.com:acme/skills.git", "git@github.com:acme/skills.git", "", "")},
	{"git@git.acme.example:team/repo//s@v1", git("git@git.acme.example:team/repo", "git@git.acme.example:team/repo", "s", "v1")},
	{"git+file:///srv/r.git//s@v1", git("git+file:///srv/r.git", "/srv/r.git", "s", "v1")},
	{"https://github.com/acme/skills/tree/main/skills/pdf", git("github.com/acme/skills", "https://github.com/acme/skills", "skills/pdf", "main")},
	{"https://github.com/acme/skills/tree/feature%2Fx", git("github.com/acme/skills", "https://github.com/acme/skills", "", "feature/x")},
	{"https://github.com/acme/skills/blob/main/skills/pdf/SKILL.md", git("github.com/acme/skills", "https://github.com/acme/skills", "skills/pdf", "main")},
	{"https://gitlab.com/group/sub/repo/-/tree/main/skills/pdf", git("gitlab.com/group/sub/repo", "https://gitlab.com/group/sub/repo", "skills/pdf", "main")},
	{"https://gitlab.acme.example/g/r/-/blob/v1/SKILL.md", git("gitlab.acme.example/g/r", "https://gitlab.acme.example/g/r", "", "v1")},

	{"oci://ghcr.io/acme/skills", oci("oci://ghcr.io/acme/skills", "", "")},
	{"oci://ghcr.io/acme/skills:1.2.0", oci("oci://ghcr.io/acme/skills", "1.2.0", "")},
	{"oci://localhost:5000/a/b__c@" + digest, oci("oci://localhost:5000/a/b__c", "", digest)},
	{"oci://ghcr.io/acme/skills:1.2.0@" + digest, oci("oci://ghcr.io/acme/skills", "1.2.0", digest)},

	{"oci://docker.io/acme/skills:1.2.0", oci("oci://docker.io/acme/skills", "1.2.0", "")},
	{"oci://Index.docker.io/acme/skills", oci("oci://docker.io/acme/skills", "", "")},
	{"oci://registry-1.docker.io/acme/skills@" + digest, oci("oci://docker.io/acme/skills", "", digest)},
	{"oci://index.docker.io:443/acme/skills", oci("oci://docker.io/acme/skills", "", "")},
	{"oci://registry-1.docker.io/skills:1", oci("oci://docker.io/library/skills", "1", "")},
	{"oci://docker.io:5000/skills", oci("oci://docker.io:5000/skills", "", "")},
	{"oci://docker.io.example/skills", oci("oci://docker.io.example/skills", "", "")},

	{"https://x.example/a/b.zip", at(Archive, "https://x.example/a/b.zip", "https://x.example/a/b.zip")},
	{"https://github.com/acme/skills/archive/refs/tags/v1.tar.gz", at(Archive, "https://github.com/acme/skills/archive/refs/tags/v1.tar.gz", "https://github.com/acme/skills/archive/refs/tags/v1.tar.gz")},
	{"https://registry.example/@scope/p/-/p-1.0.0.tgz", at(Archive, "https://registry.example/@scope/p/-/p-1.0.0.tgz", "https://registry.example/@scope/p/-/p-1.0.0.tgz")},
	{"http://[::1]:8080/a.skill", at(Archive, "http://[::1]:8080/a.skill", "http://[::1]:8080/a.skill")},

	{"https://x.example", at(WellKnown, "https://x.example", "https://x.example")},
	{"https://git.example/a.git/", git("git.example/a.git", "https://git.example/a.git", "", "")},
	{"https://X.Git", at(WellKnown, "https://x.git", "https://x.git")},
	{"https://X.Zip/", at(WellKnown, "https://x.zip", "https://x.zip")},
	{"https://x.example/a%2Fb/", at(WellKnown, "https://x.example/a%2Fb", "https://x.example/a%2Fb")},
	{"https://x.example/a/b%2F/", at(WellKnown, "https://x.example/a/b%2F", "https://x.example/a/b%2F")},
	{"https://github.com/acme/skills/tree/fix%23one/a%23b", git("github.com/acme/skills", "https://github.com/acme/skills", "a#b", "fix#one")},
	{"https://[::1]:8080/g/r/-/tree/v1", git("git+https://[::1]:8080/g/r", "https://[::1]:8080/g/r", "", "v1")},
	{"git+https://https:0/a/r.git", git("git+https://https:0/a/r.git", "https://https:0/a/r.git", "", "")},
	{"https://x.skill", at(WellKnown, "https://x.skill", "https://x.skill")},
	{"https://x.example/.well-known/agent-skills/index.json/index.json", at(WellKnown, "https://x.example", "https://x.example")},
	{"https://x.example/.well-known/a.zip/index.json", at(WellKnown, "https://x.example/.well-known/a.zip/index.json", "https://x.example/.well-known/a.zip/index.json")},
	{"HTTPS://X.example/docs/", at(WellKnown, "https://x.example/docs", "https://x.example/docs")},
	{"https://x.example/.well-known/agent-skills/index.json", at(WellKnown, "https://x.example", "https://x.example")},
	{"https://x.example/d/.well-known/skills/index.json", at(WellKnown, "https://x.example/d", "https://x.example/d")},

	{"mcp:https://x.example/mcp", at(MCP, "mcp:https://x.example/mcp", "https://x.example/mcp")},
	{"mcp:http://127.0.0.1:8080/mcp", at(MCP, "mcp:http://127.0.0.1:8080/mcp", "http://127.0.0.1:8080/mcp")},
}

func TestParse(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths of Unix")
	}
	for _, c := range refForms {
		got, err := Parse(c.text, "/srv/p", "/home/u")
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		got = got.Below("/srv/p", "/home/u")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
		again, err := Parse(got.String(), "/srv/p", "/home/u")
		if diff := cmp.Diff(got, again.Below("/srv/p", "/home/u")); diff != "" || err != nil {
			t.Errorf("%s, written as %s: %v %s", c.text, got, err, diff)
		}
		bare := got
		bare.Sub = ""
		locked, err := Locked(got.Source, got.Asked(), "/srv/p", "/home/u")
		if diff := cmp.Diff(bare, locked.Below("/srv/p", "/home/u")); diff != "" || err != nil {
			t.Errorf("%s, as a lock has it (%s, %s): %v %s", c.text, got.Source, got.Asked(), err, diff)
		}
	}
}

// TestParseRefuses checks that Parse refuses text that is not a source, with a reason and a fix,
// and that it repeats no possible secret in the text.
func TestParseRefuses(t *testing.T) {
	const secret = "s3cr3t"
	for text, want := range map[string]string{
		"":                                    "empty",
		"https://x.example/a{b%2Fc":           "not valid in a URL",
		"x":                                   "a name alone",
		"skills":                              "a name alone",
		"skills/":                             "a name alone",
		"pdf@v1":                              "no owner",
		"-x/y":                                "hyphen",
		"--upload-pack=x":                     "hyphen",
		"acme/-x":                             "OWNER/REPO of GitHub",
		"acme/skills@-x":                      "reference",
		"acme/skills@":                        "empty",
		"acme/skills@a..b":                    "reference",
		"acme/skills@a b":                     "reference",
		"acme/skills/../../x":                 "plain path",
		"acme/skills//a/../b":                 "plain path",
		"acme/skills/-x":                      "plain path",
		"acme/skills\n":                       "control",
		"acme/\u202eskills":                   "control",
		"acme/\xff":                           "UTF-8",
		"x.example":                           "no repository",
		"x.example/a.zip":                     "archive",
		"ghcr.io/acme/skills":                 "registry",
		"x.example/acme/skills:1.0":           "registry",
		"http://x.example/r.git":              "http is not used",
		"http://x.example/a.zip":              "http is not used",
		"git+http://x.example/r":              "http is not used",
		"mcp:http://x.example/mcp":            "http is not used",
		"mcp:x.example":                       "https:// address",
		"https://":                            "https:// address",
		"https:x.example":                     "https:// address",
		"https://x.example/a.zip//sub":        "folder within an archive",
		"https://x.example/r@v1":              "not the address of a repository",
		"https://x.example/a.zip?t=" + secret: "after ? or #",
		"https://x.example/a#" + secret:       "after ? or #",
		"https://x.example/../a.zip":          ". or ..",
		"https://u:" + secret + "@x.example/a.zip":       "user name or a password",
		"https://" + secret + "@github.com/acme/x":       "user name or a password",
		"https://" + secret + "%zz@github.com/acme/x":    "user name or a password",
		"http://u:" + secret + "@127.0.0.1/r.git":        "user name or a password",
		"git+https://" + secret + "@x.example/r":         "user name or a password",
		"mcp:https://u:" + secret + "@x.example":         "user name or a password",
		"ssh://u:" + secret + "@x.example/r":             "user name or a password",
		"oci://u:" + secret + "@x.example/r":             "user name or a password",
		secret + "@github.com/acme/x":                    "user name or a password",
		"https//u:" + secret + "@x.example/r":            "OWNER/REPO",
		"u:" + secret + "@github.com/acme/x":             "user name or a password",
		secret + ":x-oauth-basic@github.com:acme/x":      "user name or a password",
		"ssh://-oProxyCommand=x/r":                       "no host",
		"ssh://git@-oProxyCommand=x/r":                   "no host",
		"git@-oProxyCommand=x:r":                         "git@HOST:PATH",
		"git@x.example:-r":                               "not plain",
		"git@x.example:":                                 "not plain",
		"git.example/@@v1":                               "not plain",
		"git@x.example:@@v1":                             "not plain",
		"https://x.example/" + strings.Repeat("`", 2000): "more than 4096 bytes",
		strings.Repeat("a", 4097):                        "more than 4096 bytes",
		"https://x.example/a/b/tree/v@":                  "not the name of a branch",
		"acme/x.git.git":                                 "OWNER/REPO",
		"https://gitlab.com/acme/x.git.git":              "not plain",
		"git+file:///@@v1":                               "not plain",
		"git+file://./x":                                 "absolute path",
		"git+file:x":                                     "absolute path",
		"file:x":                                         "no path of this machine",
		"file://host/x":                                  "no path of this machine",
		"file:////u:SECRET@h/x":                          "no path of this machine",
		"file:///%2Fu:SECRET@h/x":                        "no path of this machine",
		"file://localhost//u:SECRET@h/x":                 "no path of this machine",
		"file:///////u:SECRET@h/x":                       "no path of this machine",
		"oci:x/y":                                        "no registry",
		"oci://x":                                        "no registry",
		"oci://x/Y":                                      "small letters",
		"oci://127.1:5000/acme/x":                        "short or odd spelling",
		"oci://0x7f000001/acme/x":                        "short or odd spelling",
		"oci://0177.0.0.1/acme/x":                        "short or odd spelling",
		"https://127.1/a.zip":                            "short or odd spelling",
		"mcp:https://2130706433/mcp":                     "short or odd spelling",
		"127.1/a/b":                                      "short or odd spelling",
		"git@127.0.01:a/b":                               "short or odd spelling",
		"oci://x/y:":                                     "empty",
		"oci://x/y:-1":                                   "tag",
		"oci://x/y@sha256:1":                             "digest",
		"@acme/skills":                                   "this is a package of npm",
		"npm:":                                           "names no package",
		"npm:../x":                                       "names no package",
		"npm:Upper":                                      "names no package",
		"npm:skills@":                                    "the version of the npm: source is empty",
		"npm:skills@^1.2":                                "neither a version nor a tag",
		"npm:https://registry.example":                   "names a registry and no package",
		"npm:https://a:b@registry.example//skills":       "has a user name or a password",
		"npm:http://registry.example//skills":            "http is not used",
		"ftp://x.example/a.zip":                          "'ftp:' is no kind",
		"host:team/repo":                                 "'host:' is no kind",
		"https://github.com/a/b/blob/main/x.zip":         "not a SKILL.md",
		"https://github.com/a/b/tree/main/%2e%2e/x":      ". or ..",
		"https://github.com/a/b/tree/--upload-pack%3Dx":  "reference",
		strings.Repeat("x/", 3000):                       "4096 bytes",
	} {
		r, err := Parse(text, "/srv/p", "/home/u")
		var e *RefError
		if !errors.As(err, &e) || !strings.Contains(e.Message, want) || e.Fix == "" {
			t.Errorf("%.60q: %+v, error %v; want %s", text, r, err, want)
			continue
		}
		if strings.Contains(e.Message+e.Fix, secret) {
			t.Errorf("%.60q: the message has the secret: %v", text, err)
		}
		if strings.Contains(e.Message+e.Fix, "the lock") {
			t.Errorf("%.60q: a server has no lock: %v", text, err)
		}
	}
	if _, err := Parse("//u:"+secret+"@x.example/r", "/srv/p", "/home/u"); runtime.GOOS != "windows" && (err == nil || err.Error() != "a source cannot begin with two slashes") {
		t.Error(err)
	}
	if _, err := Parse("~/x", "/srv/p", ""); err == nil {
		t.Error("~ without a home")
	}
	if _, err := Parse("./x", "", ""); err == nil {
		t.Error("a relative path without a folder")
	}
	for _, c := range [][2]string{{"acme/skills@v1", ""}, {"acme/skills/a", ""}, {"./x", "v1"}, {"acme/skills", "-v"}, {"oci://x/y", "a@b"}, {"oci://x/y", "sha256:1"}} {
		if r, err := Locked(c[0], c[1], "/srv/p", ""); err == nil {
			t.Errorf("a lock with %s and %s: %+v", c[0], c[1], r)
		}
	}
}

// FuzzRef checks that the text of a parsed source parses to the same source. It also checks that no
// program can take any part of that text for an option or a password.
func FuzzRef(f *testing.F) {
	for _, c := range refForms {
		f.Add(c.text)
	}
	f.Add("http://127.0.0.1:08.")
	f.Add("ssh:A:00/0")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text, "/srv/p", "/home/u")
		if err != nil {
			var e *RefError
			if !errors.As(err, &e) || e.Message == "" || e.Fix == "" || len(e.Message) > 300 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := Parse(r.String(), "/srv/p", "/home/u")
		if err != nil || again != r {
			t.Fatalf("%q is %+v, and %q is %+v, %v", text, r, r.String(), again, err)
		}
		low := r.Below("/srv/p", "/home/u")
		if again, err := Parse(low.String(), "/srv/p", "/home/u"); err != nil || again != r {
			t.Fatalf("%q below: %+v, and %q is %+v, %v", text, r, low.String(), again, err)
		}
		if l, err := Locked(r.Source, r.Asked(), "/srv/p", "/home/u"); err != nil || l.Location != r.Location || l.Want != r.Want || l.Digest != r.Digest {
			t.Fatalf("%q from a lock: %+v, %v", text, l, err)
		}
		for _, s := range []string{r.Source, r.Location, r.Sub, r.Want} {
			if strings.HasPrefix(s, "-") || strings.ContainsFunc(s, unsafe) {
				t.Fatalf("%q: %+v", text, r)
			}
		}
		if (r.Kind == Folder) && !filepath.IsAbs(r.Location) {
			t.Fatalf("%q: %+v", text, r)
		}
		if i := strings.Index(r.Location, "://"); i >= 0 && !strings.HasPrefix(r.Location, "ssh:") {
			host, _, _ := strings.Cut(r.Location[i+3:], "/")
			if strings.Contains(host, "@") {
				t.Fatalf("%q: %+v", text, r)
			}
		}
	})
}
