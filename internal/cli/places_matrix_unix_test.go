//go:build unix

package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
)

// layout is a way to arrange the folders of a project p and a home folder home. The skill a is
// added with flags, and its root is later excluded by its label.
type layout struct {
	name    string
	links   map[string]string // maps a path to the target of the link
	folders string
	home    string // the default is "home"
	project string // the default is "p"
	flags   []string
	label   string            // the default is "agents-project"
	after   map[string]string // links that are made after the skill
	file    string            // the path of SKILL.md in the project
}

var layouts = []layout{
	{name: "plain"},
	{name: "skills folder linked", folders: "p/skills p/.agents", links: map[string]string{"p/.agents/skills": "../skills"}},
	{name: "skills folder of another client", folders: "p/.claude/skills p/.agents", links: map[string]string{"p/.agents/skills": "../.claude/skills"}},
	{name: "parent linked", folders: "p/agents", links: map[string]string{"p/.agents": "agents"}},
	{name: "each skill linked", folders: "p/skills p/.agents/skills", flags: []string{"--to", "skills"}, after: map[string]string{"p/.agents/skills/a": "../../skills/a"}, file: "skills/a/SKILL.md"},
	{name: "each skill linked, twice", folders: "p/.claude/skills", after: map[string]string{"p/.claude/skills/a": "../../.agents/skills/a"}},
	{name: "home linked", folders: "real", home: "link", links: map[string]string{"link": "real"}},
	{name: "home linked, for all projects", folders: "real/dot", home: "link", links: map[string]string{"link": "real", "real/.agents": "dot"}, flags: []string{"--global"}, label: "agents-user", file: "../real/dot/skills/a/SKILL.md"},
	{name: "project linked", project: "q", links: map[string]string{"q": "p"}},
	{name: "root in two spellings", folders: "p/.claude p/.agents/skills", links: map[string]string{"p/.claude/skills": "../.agents/skills", "p/.codex": ".agents"}},
}

// arranged is a project and a home folder in a layout.
type arranged struct {
	t    *testing.T
	top  string
	env  console.Env
	file string
}

func (l layout) arrange(t *testing.T) *arranged {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range append([]string{"p/.git", "home"}, strings.Fields(l.folders)...) {
		must(os.MkdirAll(filepath.Join(top, folder), 0o755))
	}
	link := func(links map[string]string) {
		for at, target := range links {
			must(os.Symlink(target, filepath.Join(top, at)))
		}
	}
	link(l.links)
	or := func(text, otherwise string) string {
		if text == "" {
			return otherwise
		}
		return text
	}
	a := &arranged{t: t, top: top, file: filepath.Join(top, "p", or(l.file, ".agents/skills/a/SKILL.md"))}
	a.env = console.Env{Dir: filepath.Join(top, or(l.project, "p")), Home: filepath.Join(top, or(l.home, "home")), Getenv: func(string) string { return "" }}
	put(t, filepath.Join(a.env.Home, ".config/knack/knack.yaml"), "lock: enforce\n")
	a.source("Does a when asked.")
	a.expect(0, "added a from", "", append([]string{"add", filepath.Join(top, "src"), "--skill", "a"}, l.flags...)...)
	link(l.after)
	return a
}

// source writes the skill to the folder from which it is installed.
func (a *arranged) source(description string) {
	put(a.t, filepath.Join(a.top, "src/a/SKILL.md"), "---\nname: a\ndescription: "+description+"\n---\n\nDo it.\n")
}

// run runs a command with the given standard input.
func (a *arranged) run(in string, args ...string) (code int, out string) {
	both := new(locked)
	env := a.env
	env.Stdin, env.Stdout, env.Stderr = strings.NewReader(in), both, both
	return cli.Main(a.t.Context(), env, args), both.String()
}

// expect runs a command. It checks the status, a text that the output must contain, and a text that
// it must not contain.
func (a *arranged) expect(code int, has, lacks string, args ...string) {
	a.t.Helper()
	got, out := a.run("", args...)
	if got != code || !strings.Contains(out, has) || lacks != "" && strings.Contains(out, lacks) {
		a.t.Errorf("knack %s: status %d, want %d with %q and without %q:\n%s", strings.Join(args, " "), got, code, has, lacks, out)
	}
}

// serve starts a server with flags. It returns the list of tools, which contains the skills, and
// the answer for the skill a.
func (a *arranged) serve(flags ...string) (list, given string) {
	a.t.Helper()
	tools, list, given := a.serveFor("x", flags...)
	return tools + list, given
}

// serveFor is like serve for a client with the given name. It returns the list of tools and the
// answer of find_skills separately.
func (a *arranged) serveFor(client string, flags ...string) (tools, list, given string) {
	a.t.Helper()
	_, out := a.run(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"`+client+`","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"find_skills","arguments":{}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"skill","arguments":{"name":"a"}}}
`, append([]string{"serve", "--no-builtin"}, flags...)...)
	for line := range strings.Lines(out) {
		switch {
		case strings.Contains(line, "dangling") || strings.Contains(line, "which is not there"):
			a.t.Errorf("serve %s logs %s", strings.Join(flags, " "), line)
		case strings.HasPrefix(line, `{"jsonrpc":"2.0","id":2,`):
			tools = line
		case strings.HasPrefix(line, `{"jsonrpc":"2.0","id":3,`):
			list = line
		case strings.HasPrefix(line, `{"jsonrpc":"2.0","id":4,`):
			given = line
		}
	}
	if tools == "" || list == "" || given == "" {
		a.t.Errorf("serve %s answers nothing:\n%s", strings.Join(flags, " "), out)
	}
	return tools, list, given
}

// TestPlaces checks that every command, from install to remove, sees the skill in one place,
// whichever links lead to its folders.
func TestPlaces(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			a := l.arrange(t)
			where := []string{}
			if len(l.flags) == 1 {
				where = l.flags
			}
			at := func(args ...string) []string { return append(args, where...) }
			label := l.label
			if label == "" {
				label = "agents-project"
			}
			const offered = "Does a when asked."
			asInstalled := func(description string) {
				t.Helper()
				a.expect(0, description, "", "list", "--no-builtin")
				a.expect(0, "can be loaded", "changed since", "doctor", "a")
				a.expect(0, "", "which is not there", "check", "--strict")
				a.expect(0, "1 skill as locked", "", at("verify")...)
				if list, given := a.serve(); !strings.Contains(list, description) || !strings.Contains(given, "Do it.") {
					t.Errorf("served: %s%s", list, given)
				}
			}
			asInstalled(offered)
			if _, out := a.run("", "list", "--no-builtin"); strings.Count(out, offered) != 1 {
				t.Errorf("listed twice:\n%s", out)
			}
			a.expect(0, "0 skills", offered, "list", "--no-builtin", "--exclude", label)
			if list, given := a.serve("--exclude", label); strings.Contains(list, offered) || !strings.Contains(given, "Do it.") {
				t.Errorf("excluded: %s%s", list, given)
			}
			if tools, list, given := a.serveFor("codex-mcp-client"); strings.Contains(tools, offered) || !strings.Contains(list, offered) || !strings.Contains(given, "Do it.") {
				t.Errorf("for a client that reads the folder: %s%s%s", tools, list, given)
			}

			data, err := os.ReadFile(a.file)
			if err != nil {
				t.Fatal(err)
			}
			put(t, a.file, string(data)+"Evil.\n")
			a.expect(0, "0 skills", offered, "list", "--no-builtin")
			a.expect(1, "changed since it was locked", "can be loaded", "doctor", "a")
			a.expect(1, "differs: a", "", at("verify")...)
			if list, given := a.serve(); strings.Contains(list, offered) || strings.Contains(given, "Evil.") || !strings.Contains(given, "changed since it was locked") {
				t.Errorf("changed, and served: %s%s", list, given)
			}
			a.expect(1, "left a", "", at("update")...)
			a.expect(1, "left a", "", at("sync")...)
			a.expect(0, "replaced a", "", at("sync", "--overwrite")...)
			asInstalled(offered)

			a.source("Does more.")
			a.expect(0, "updated a", "", at("update")...)
			asInstalled("Does more.")

			a.expect(0, "removed a", "", at("remove", "a")...)
			a.expect(0, "0 skills", "Does more.", "list", "--no-builtin")
			if _, err := os.Lstat(a.file); err == nil {
				t.Errorf("%s is there still", a.file)
			}
			if _, given := a.serve(); strings.Contains(given, "Do it.") {
				t.Errorf("removed, and served: %s", given)
			}
		})
	}
}

// TestLockIsNoFile checks that every command reports the same error for a knack.lock that is not a
// regular file, and that no skill below it is served.
func TestLockIsNoFile(t *testing.T) {
	const isLink, noFile = "is a link, which knack does not follow there", "cannot be read: not a regular file"
	for _, kind := range []struct {
		name, why string
		put       func(at, whole, top string) error // whole is the path of a copy of the lock
	}{
		{"a link to nothing", isLink, func(at, _, _ string) error { return os.Symlink("nowhere", at) }},
		{"a link inside", isLink, func(at, whole, _ string) error { return os.Symlink(filepath.Base(whole), at) }},
		{"a link outside", isLink, func(at, whole, top string) error {
			out := filepath.Join(top, "outside.lock")
			return errors.Join(os.Rename(whole, out), os.Symlink(out, at))
		}},
		{"a pipe", noFile, func(at, _, _ string) error { return unix.Mkfifo(at, 0o644) }},
		{"a folder", noFile, func(at, _, _ string) error { return os.Mkdir(at, 0o755) }},
	} {
		t.Run(kind.name, func(t *testing.T) {
			a := layouts[0].arrange(t)
			at, whole := filepath.Join(a.env.Dir, "knack.lock"), filepath.Join(a.env.Dir, "real.lock")
			if err := errors.Join(os.Rename(at, whole), kind.put(at, whole, a.top)); err != nil {
				t.Fatal(err)
			}
			why := "knack.lock " + kind.why
			a.expect(3, why, "", "verify")
			a.expect(3, why, "", "update")
			a.expect(3, why, "", "publish", "--dry-run", "./.agents/skills", "oci://127.0.0.1:1/acme")
			a.expect(0, ".agents/skills/a/SKILL.md: "+why, "Does a", "list", "--all", "--no-builtin")
			a.expect(1, why, "", "doctor", "--no-builtin", "a")
			if list, given := a.serve(); strings.Contains(list, "Does a") || strings.Contains(given, "Do it") {
				t.Errorf("serve has it: %s %s", list, given)
			}
		})
	}
}
