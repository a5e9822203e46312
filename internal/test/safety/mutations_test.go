//go:build linux

package safety

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mutation is one fault to put into knack, and the test that must notice it.
type mutation struct {
	name    string
	promise string // the promise that the fault breaks
	by      string // a part, such as hostile-tree/entries, or a package and a pattern of its tests: ./tool TestX
	says    string // a pattern for the failure message; a failure with another message does not count
	changes []change
}

// change replaces the only occurrence of from in a file with to, at build time.
type change struct{ file, from, to string }

// mutations lists one fault for each of the most important promises.
var mutations = []mutation{
	{"contract-002", "contract 002: an empty line follows the base directory", "./internal/test/contracttest ^TestUniversal$", "", []change{
		{"tool/skill.go", `h.BaseLine(ctx, now) + "\n\n"`, `h.BaseLine(ctx, now) + "\n"`}}},
	{"call-read-strictly", "an id that decoders read differently is refused", "./mcpserver/internal/wire ^TestParse$", "", []change{
		{"mcpserver/internal/wire/message.go", "case f.id != nil && idErr != nil:", "case false:"}}},
	{"session-of-token", "a session serves only the token that began it", "./mcpserver ^TestTokens$", "", []change{
		{"mcpserver/internal/httpd/session.go", "[]byte(token)) == 0", "[]byte(token)) < 0"}}},
	{"signin-of-browser", "a sign-in at a provider ends in the browser that began it, with the token that was made for it", "./internal/server/openid ^TestAttacks$", "", []change{
		{"internal/server/openid/flow.go", "[]byte(begun.State)) != 1", "[]byte(begun.State)) == 2"},
		{"internal/server/openid/flow.go", "[]byte(begun.Nonce)) != 1", "[]byte(begun.Nonce)) == 2"}}},
	{"asked-before-called", "a tool that is not of a skill is called only if the user allows it", "./internal/llm/chat ^TestConsent$", "", []change{
		{"internal/llm/chat/calls.go", "case !allowed:", "case !allowed && false:"}}},
	{"key-of-its-vendor", "the key in a vendor's variable goes to that vendor alone", "./internal/cli/chatcmd ^TestNamed$", "", []change{
		{"internal/cli/chatcmd/choose.go", `if w.URL != "" && hostOf(w.URL) == hostOf(v.url) {`, `if w.URL != "" {`}}},
	{"damage-is-not-served", "no damaged byte of a store is served", "./internal/distribution/release ^TestDamaged$", "", []change{
		{"skill/verified.go", "v.right = Digest(v.hash.Sum(nil)) == v.digest", "v.right = true"},
		{"internal/distribution/release/release.go", "case k.Digest != p.folder.main:", "case false:"}}},
	{"forward-only", "a server that goes forward only serves no lower version", "./internal/distribution/follow ^TestForwardOnly$", "events", []change{
		{"internal/distribution/release/update.go", "u.ForwardOnly && known && semver.Lower(r.Version, most)", "u.ForwardOnly && known && false"}}},
	{"changes-are-kept", "what a user changed in an installed skill is kept before it is replaced", "./internal/distribution/install ^TestTable$/^folder$", "is lost", []change{
		{"internal/distribution/install/do.go", "!s.keep && now.missing", "now.missing"}}},
	{"nothing-below-git", "no lock or link of a clone leads a skill into .git", "./internal/distribution/install ^TestNothingBelowGit$", "is done", []change{
		{"internal/distribution/install/place.go", "lockfile.IsGit)", "func(name string) bool { return lockfile.IsGit(name) && false })"}}},
	{"held-everywhere", "a skill that is held back is on no surface", "secrets/held", "leaks|was not asked for", []change{
		{"internal/policy/guard.go", "	if now.reason != nil && b.Fault() == nil {", "	if false {"},
		{"internal/policy/folder.go", "	if v.hidden() {\n		return nil, &fs.PathError{Op: \"open\"", "	if false {\n		return nil, &fs.PathError{Op: \"open\""},
		{"internal/policy/folder.go", "		err = v.reason\n", "		err = nil\n"}}},
	{"held-bytes", "no byte is served that was not judged", "race/held", "leaks a file that is bad", []change{
		{"internal/policy/folder.go", "	return skill.Verified(file, want.Size", "	if true {\n		return file, nil\n	}\n	return skill.Verified(file, want.Size"}}},
	{"links", "no link leads out of a skill", "hostile-tree/entries", "leaks a file outside", []change{
		{"source/dir/open_linux.go", "unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS", "0"},
		{"source/dir/open_linux.go", "unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT", "unix.AT_NO_AUTOMOUNT"},
		{"source/dir/open_linux.go", "name, unix.O_PATH|unix.O_NOFOLLOW, beneath)\n	if err != nil {\n		return nil, err", "name, unix.O_PATH, beneath)\n	if err != nil {\n		return nil, err"}}},
	{"links-swapped", "no link leads out that replaces a file between the look and the open", "race/swaps", "leaks", []change{
		{"source/dir/open_linux.go", "		return nil, skill.ErrNotRegular\n	}\n	fd, err := openat2(int(h), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, beneath)", "		return nil, skill.ErrNotRegular\n	}\n	fd, err := openat2(int(h), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)"},
		{"source/dir/open_linux.go", "skill.Stamp, error) {\n	fd, err := openat2(int(h), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, beneath)", "skill.Stamp, error) {\n	fd, err := openat2(int(h), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)"}}},
	{"inert-texts", "a description cannot close the listing", "yaml-and-text/inert", "closes the list", []change{
		{"tool/internal/listing/style.go", "func EscapeXML(s string) string { return xmlEscaper.Replace(s) }", "func EscapeXML(s string) string { _ = xmlEscaper; return s }"}}},
	{"any-host", "a web page that renames its host gets nothing", "http/matrix", "this Host gets", []change{
		{"internal/server/httpguard/origin.go", "		allowed := g.allowsHost(r.Host)\n", "		allowed := r.Host != \"\"\n"}}},
	{"rules-stay", "a configuration that lost its rules opens nothing", "faults/reload", "skills/vault/: 200", []change{
		{"internal/cli/serve_reload.go", "	if key := r.access.Omits(now.Access); key != \"\" {\n", "	if key := r.access.Omits(now.Access); false {\n"}}},
	{"nothing-vanishes", "the skills of a root that cannot be read stay listed", "faults/eacces", "is not listed", []change{
		{"catalog/scanrun.go", "r.status.Err, r.stale, scan = err, true, last", "r.status.Err, scan = err, skill.Scan{}"}}},
	{"whole-files", "a file that knack writes is the old or the new one, on a full disk too", "faults/disk-full", "status 0", []change{
		{"internal/base/edit/edit.go", "		temp, err := write(in, name, info, new)\n", "		if true {\n		f, err := in.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)\n		if err != nil {\n			return err\n		}\n		for _, b := range bytes.SplitAfter(new, []byte(\"\\n\")) {\n			_, _ = f.Write(b)\n		}\n		return f.Close()\n	}\n		temp, err := write(in, name, info, new)\n"}}},
	{"rule-hides", "a skill that a rule hides is absent from every answer", "secrets/forbidden", "leaks|is told apart", []change{
		{"catalog/filter.go", " && !filter.Visible(e); at = parent(at) {\n", " && false; at = parent(at) {\n"}}},
	{"secrets", "no argument is in a log", "secrets/canaries", "the log leaks", []change{
		{"mcpserver/tools.go", "	\"context\"\n", "	\"context\"\n	\"os\"\n"},
		{"mcpserver/tools.go", "	res, err := t.Call(ctx, s.host, x.params.Arguments)\n", "	_, _ = os.Stderr.Write(x.params.Arguments)\n	res, err := t.Call(ctx, s.host, x.params.Arguments)\n"}}},
	{"budgets", "answers in flight hold a bounded memory", "resources/budget", "MiB", []change{
		{"internal/base/limit/budget.go", "	case a.closed, all > b.units, ", "	case a.closed, all < 0, "},
		{"internal/base/limit/budget.go", "own > share && all", "own < 0 && all"}}},
}

// TestMutations puts each fault into knack and requires that its test fails with the expected
// message. MUTATE selects the faults: "tests" for those that tests of packages notice, "parts" for
// those that parts with the built binary notice, "all" for both.
func TestMutations(t *testing.T) {
	want := os.Getenv("MUTATE")
	switch want {
	case "tests", "parts", "all":
	case "":
		t.Skip("set MUTATE=tests, parts or all, or run make mutate")
	default:
		t.Fatalf("MUTATE=%s: want tests, parts or all", want)
	}
	for _, m := range mutations {
		pkg, tests, ofPackage := strings.Cut(m.by, " ")
		if want == "tests" && !ofPackage || want == "parts" && ofPackage {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			said := ""
			if ofPackage {
				said = m.tested(t, pkg, tests)
			} else {
				said = m.tried(t)
			}
			t.Logf("%s; noticed by %s: %.300s", m.promise, m.by, said)
		})
	}
}

// tested runs the tests of a package with the fault, and returns the failure message.
func (m mutation) tested(t *testing.T, pkg, tests string) string {
	t.Helper()
	overlay, err := overlaid(t.TempDir(), m.changes)
	if err != nil {
		t.Fatal(err)
	}
	run := func(more ...string) ([]byte, error) {
		cmd := exec.Command("go", append([]string{"test", "-count=1", "-run", tests, pkg}, more...)...)
		cmd.Dir = moduleDir()
		return cmd.CombinedOutput()
	}
	if out, err := run(); err != nil || bytes.Contains(out, []byte("no tests to run")) {
		t.Fatalf("%s fail without the fault, or are missing: %v\n%s", m.by, err, out)
	}
	out, err := run("-overlay", overlay)
	at := bytes.Index(out, []byte("--- FAIL"))
	if err == nil || at < 0 || !regexp.MustCompile(m.says).Match(out) {
		t.Fatalf("%s do not notice that this is broken: %s\n%v\n%.2000s", m.by, m.promise, err, out)
	}
	return string(out[at:])
}

// tried runs a part with a binary that has the fault, and returns the failure message.
func (m mutation) tried(t *testing.T) string {
	t.Helper()
	r := &trial{T: t, fast: true, changes: m.changes, says: regexp.MustCompile(m.says)}
	ended := make(chan struct{})
	go func() { // a goroutine of its own, since check ends it
		defer close(ended)
		partOf(t, m.by).run(r)
	}()
	<-ended
	switch {
	case r.noticed != "":
	case len(r.untried) > 0 && r.cases == 0:
		t.Skip("not tried: ", strings.Join(r.untried, "; "))
	default:
		t.Fatalf("%d cases, none says %q: %.2000q", r.cases, m.says, r.failures)
	}
	return r.noticed
}

// partOf returns the part with the name PROPERTY/PART.
func partOf(t *testing.T, name string) part {
	t.Helper()
	for _, p := range properties() {
		for _, part := range p.parts {
			if p.name+"/"+part.name == name {
				return part
			}
		}
	}
	t.Fatalf("no such part: %s", name)
	return part{}
}

// TestMutationsApply checks, without building anything, that each change finds its text in the
// code, and that the part or package that must notice it exists.
func TestMutationsApply(t *testing.T) {
	for _, m := range mutations {
		if _, err := overlaid(t.TempDir(), m.changes); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if pkg, _, ofPackage := strings.Cut(m.by, " "); !ofPackage {
			partOf(t, m.by)
		} else if _, err := os.Stat(filepath.Join(moduleDir(), pkg)); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// overlaid writes the changed files, and the file that the go command takes with -overlay. It
// returns an error if the text of a change does not occur exactly once in its file. Then the code
// was edited, and the change must be adapted.
func overlaid(dir string, changes []change) (string, error) {
	if len(changes) == 0 {
		return "", nil
	}
	replace, text := map[string]string{}, map[string]string{}
	for i, c := range changes {
		path := filepath.Join(moduleDir(), filepath.FromSlash(c.file))
		if rest, ok := strings.CutPrefix(c.file, "std:"); ok {
			root, err := exec.Command("go", "env", "GOROOT").Output()
			if err != nil {
				return "", err
			}
			path = filepath.Join(strings.TrimSpace(string(root)), "src", filepath.FromSlash(rest))
		}
		if text[path] == "" {
			data, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			text[path] = string(data)
		}
		if n := strings.Count(text[path], c.from); n != 1 {
			return "", fmt.Errorf("%s holds %d times, not once: %s", c.file, n, c.from)
		}
		text[path] = strings.Replace(text[path], c.from, c.to, 1)
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(replace[path], []byte(text[path]), 0o644); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, data, 0o644)
}
