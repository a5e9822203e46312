//go:build unix

package contracttest

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/source/dir"
)

func md(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n\n# " + name + "\n"
}

const gitMD = "---\nname: git\ndescription: Git deployment workflow skill\n---\n\n# Git Deployment GitOps\n\n## Overview\n\nManage commits and merge requests...\n"

func universalWorld(t testing.TB) *world {
	w := newWorld(t, map[string]string{
		"git/SKILL.md":      gitMD,
		"postgres/SKILL.md": md("postgres", "PostgreSQL database operations"),
		"pipeline/SKILL.md": md("CI/CD Pipeline", "Ships <it> & more"),
		"nodesc/SKILL.md":   "---\nname: nodesc\n---\n",
		"noname/SKILL.md":   "---\ndescription: d\n---\n",
		"broken/SKILL.md":   "---\nname: [broken\n---\n",
		"denied/SKILL.md":   md("denied", "d"),
		"hidden/SKILL.md":   "---\nname: hidden\ndescription: d\ndisable-model-invocation: true\n---\n",
	}, map[string]string{
		"git/SKILL.md":         md("git", "Git as I use it"),
		"mcp-builder/SKILL.md": md("mcp-builder", "MCP server development guide"),
	})
	must(t, os.Chmod(filepath.Join(w.dirs[0], "denied/SKILL.md"), 0))
	if os.Getuid() == 0 { // root can read a denied file
		w.put(0, "denied/SKILL.md", "---\nname: denied\n---\n")
	}
	w.refresh()
	return w
}

const universalList = "- CI/CD Pipeline: Ships <it> & more\n- git: Git deployment workflow skill\n- postgres: PostgreSQL database operations\n- mcp-builder: MCP server development guide"

func loading(name, base, text string) answer {
	return answer{text: "Loading: " + name + "\nBase directory: " + base + "\n\n" + text}
}

func skillMissing(name string, hints ...string) answer {
	return answer{text: strings.Join(append([]string{"Skill '" + display.Echo(name) + "' not found.\n\nAvailable skills:\n" + universalList +
		"\n\nUse the exact skill name (case-insensitive) to load a skill."}, hints...), "\n")}
}

func invalid(why string) answer {
	return answer{text: "Invalid arguments for tool skill: " + why, isError: true}
}

func TestUniversal(t *testing.T) {
	w := universalWorld(t)
	load := func(id, name string, want answer) row {
		return row{id: id, tool: "skill", args: `{"name":` + quote(name) + `}`, want: want}
	}
	git, builder := loading("git", "$DIR/git", gitMD), loading("mcp-builder", "$USER/mcp-builder", md("mcp-builder", "MCP server development guide"))
	rows := []row{
		load("002-validation-1", "  \t", answer{text: "Skill name cannot be empty", isError: true}),
		{id: "002-validation-1", tool: "skill", args: `{"name":5}`, want: invalid("'name' must be a string")},
		{id: "002-validation-1", tool: "skill", args: `{}`, want: invalid("'name' is missing; give the name of a skill")},
		{id: "002-schema", tool: "skill", args: `{"name":"git","x":1}`, want: invalid("unrecognized key 'x'; the only one is 'name'")},
		{id: "002-schema", tool: "skill", args: `{"command":"git"}`, want: git},
		{id: "002-schema", tool: "skill", args: `{"name":"git","command":"git"}`, want: invalid("'name' and 'command' are two names of one argument; give 'name' alone")},
		load("002-validation-2", "Git", git),
		load("002-validation-3", "ci/cd pipeline", loading("CI/CD Pipeline", "$DIR/pipeline", md("CI/CD Pipeline", "Ships <it> & more"))),
		load("002-validation-3", "数学 🧮 x", skillMissing("数学 🧮 x")),
		load("002-success", "git", git),
		load("002-error", "nonexistent", skillMissing("nonexistent")),
		load("002-case-1", "Git", git),
		load("002-case-2", "MCP-Builder", builder),
		load("002-case-3", "POSTGRES", loading("postgres", "$DIR/postgres", md("postgres", "PostgreSQL database operations"))),
		load("002-frontmatter-name", "noname", skillMissing("noname", "'noname' exists but was skipped: .claude/skills/noname/SKILL.md:2:1: name is missing (add a line name: noname)")),
		load("002-frontmatter-description", "nodesc", skillMissing("nodesc", "'nodesc' exists but was skipped: .claude/skills/nodesc/SKILL.md:2:1: description is missing (add a line description: that says what the skill does and when to use it)")),
		load("002-missing-1", "nonexistent", skillMissing("nonexistent")),
		load("002-missing-2", "gitt", skillMissing("gitt", "Did you mean 'git'?")),
		load("002-example-1", "git", git),
		load("002-example-2", "MCP-Builder", builder),
		load("002-example-3", "nonexistent", skillMissing("nonexistent")),
		load("002-protocol", "git", git),
		load("002-input-1", "", answer{text: "Skill name cannot be empty", isError: true}),
		load("002-input-2", "../git", skillMissing("../git")),
		load("002-input-2", "git/SKILL.md", skillMissing("git/SKILL.md")),
		load("002-input-3", "/etc", skillMissing("/etc")),
		load("002-traversal", "../../../etc/passwd", skillMissing("../../../etc/passwd")),
		load("002-traversal", ".ssh/id_rsa", skillMissing(".ssh/id_rsa")),
		load("002-traversal", strings.Repeat("x", 300), skillMissing(strings.Repeat("x", 300))),
		load("002-scenario-1", "git", git),
		load("002-scenario-2", "Git", git),
		load("002-scenario-3", "nonexistent", skillMissing("nonexistent")),
		load("002-scenario-4", "", answer{text: "Skill name cannot be empty", isError: true}),
		load("002-scenario-5", "git", git),
		load("002-scenario-5", "claude-user:git", loading("git", "$USER/git", md("git", "Git as I use it"))),
		load("002-scenario-9", "nodesc", skillMissing("nodesc", "'nodesc' exists but was skipped: .claude/skills/nodesc/SKILL.md:2:1: description is missing (add a line description: that says what the skill does and when to use it)")),
		{id: "002-scenario-10", tool: "skill", args: `{"name":"denied"}`, denied: true,
			want: skillMissing("denied", "'denied' exists but was skipped: .claude/skills/denied/SKILL.md: cannot be read: permission denied (let the user who runs knack read the file and its folder)")},
		load("002-models", "hidden", answer{text: "Skill 'hidden' is not available for model invocation.", isError: true}),
	}
	run(t, w, "universal", rows)
}

// TestUniversalMalformed checks that a malformed skill is skipped with a reason, and does not
// affect other skills.
func TestUniversalMalformed(t *testing.T) {
	w := universalWorld(t)
	w.ask(t, "universal", "skill", `{"name":"broken"}`, skillMissing("broken",
		"'broken' exists but was skipped: .claude/skills/broken/SKILL.md:2:7: the name cannot be read: the [ that begins here is never closed (put the value in quotes: name: '…')"))
	w.ask(t, "universal", "skill", `{"name":"git"}`, loading("git", "$DIR/git", gitMD))
}

// TestUniversalRefresh checks that new, deleted and changed skills take effect with the next
// refresh.
func TestUniversalRefresh(t *testing.T) {
	w := newWorld(t, map[string]string{"a/SKILL.md": md("a", "A")})
	load := func(name string, want answer) {
		t.Helper()
		w.ask(t, "universal", "skill", `{"name":`+quote(name)+`}`, want)
	}
	none := func(name, list string, hint ...string) answer {
		return answer{text: strings.Join(append([]string{"Skill '" + name + "' not found.\n\nAvailable skills:\n" + list + "\n\nUse the exact skill name (case-insensitive) to load a skill."}, hint...), "\n")}
	}
	load("fresh", none("fresh", "- a: A"))
	w.put(0, "fresh/SKILL.md", md("fresh", "Fresh"))
	w.refresh()
	load("fresh", loading("fresh", "$DIR/fresh", md("fresh", "Fresh")))
	w.put(0, "a/SKILL.md", md("a", "Changed"))
	load("a", loading("a", "$DIR/a", md("a", "Changed")))
	w.remove(0, "fresh")
	w.refresh()
	load("fresh", none("fresh", "- a: Changed"))
}

// TestUniversalDiscovery checks that the order of the roots decides which of two skills has
// priority, that a missing root is not logged, and that a skill that cannot be parsed is logged
// only once.
func TestUniversalDiscovery(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	put := func(root, at, description string) {
		must(t, os.MkdirAll(filepath.Join(root, at, "s"), 0o755))
		must(t, os.WriteFile(filepath.Join(root, at, "s", "SKILL.md"), []byte(md("s", description)), 0o644))
	}
	places := []struct{ root, at, location string }{
		{project, ".agent/skills", "project"}, {home, ".agent/skills", "global"}, {project, ".claude/skills", "project"}, {home, ".claude/skills", "global"},
	}
	var log bytes.Buffer
	for i := len(places) - 1; i >= 0; i-- {
		put(places[i].root, places[i].at, places[i].at)
		must(t, os.MkdirAll(filepath.Join(places[i].root, places[i].at, "bad"), 0o755))
		must(t, os.WriteFile(filepath.Join(places[i].root, places[i].at, "bad", "SKILL.md"), []byte("text"), 0o644))
		var sources []catalog.Source
		for _, root := range dir.WellKnown([]string{project}, home, nil) {
			sources = append(sources, dir.New(dir.Options{Root: root}))
		}
		log.Reset()
		c := catalog.New(sources, catalog.Options{Log: logger(&log)})
		must(t, c.Refresh(t.Context()))
		must(t, c.Refresh(t.Context()))
		logged := ""
		for _, p := range places[i:] {
			at := filepath.ToSlash(filepath.Join(p.root, p.at)) // the log is for the operator, so it has whole paths
			logged += "level=WARN msg=\"skill skipped\" at=" + at + "/bad/SKILL.md:1:1 reason=\"the file has no frontmatter\"" +
				" fix=\"begin the file with ---, name:, description: and --- on lines of their own\"\n"
		}
		if diff := cmp.Diff(logged, log.String()); diff != "" {
			t.Errorf("%d roots: the log -want +got:\n%s", len(places)-i, diff)
		}
		v, err := c.View(t.Context())
		must(t, err)
		d := toolsOf(t, "universal")[0].Define(v, clientless)
		_, list, _ := strings.Cut(d.Description, "<available_skills>\n")
		want := "<skill>\n<name>s</name>\n<description>" + places[i].at + "</description>\n<location>" + places[i].location + "</location>\n</skill>\n</available_skills>"
		if diff := cmp.Diff(want, list); diff != "" {
			t.Error(diff)
		}
		w := &world{t: t, dirs: []string{project, home}, catalog: c, sessions: map[string]*session{}}
		w.ask(t, "universal", "skill", `{"name":"s"}`, loading("s", filepath.Join(places[i].root, places[i].at, "s"), md("s", places[i].at)))
		w.sameDefinitions(t, "universal", []defined{{"skill", "Load Skill", d.Description, "", skillSchema}})
	}
}

// logger returns a logger that omits the time.
func logger(to io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}
