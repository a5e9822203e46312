package distcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/distribution/install"
)

// shell runs commands in a project. Beside the project are two skills to install.
type shell struct {
	t    *testing.T
	dir  string
	vars map[string]string
	ctx  context.Context
	wide int      // the width of a terminal, or 0
	more []string // environment of the programs that a command starts

	around Surroundings
}

func newShell(t *testing.T) *shell {
	t.Helper()
	s := &shell{t: t, dir: t.TempDir(), vars: map[string]string{}, ctx: t.Context()}
	for _, name := range []string{"p/.git/x", "home/x"} {
		s.put(name, "")
	}
	s.put("src/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF files.\n---\n")
	s.put("src/xlsx/SKILL.md", "---\nname: xlsx\ndescription: Reads sheets.\n---\n")
	s.put("src/xlsx/.env", "")
	return s
}

func (s *shell) put(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// run runs a command, and returns its output and exit status.
func (s *shell) run(args ...string) (stdout, stderr string, status int) {
	s.t.Helper()
	var out, errs bytes.Buffer
	env := console.Env{
		Stdout: &out, Stderr: &errs, Getenv: func(name string) string { return s.vars[name] }, Environ: append(os.Environ(), s.more...),
		Dir: filepath.Join(s.dir, "p"), Home: filepath.Join(s.dir, "home"),
		Width: s.wide, StdoutTerminal: s.wide > 0,
	}
	root := &cobra.Command{Use: "knack", SilenceErrors: true, SilenceUsage: true}
	env.Takes = command.Takes(root)
	root.AddCommand(Commands(&env, s.around)...)
	root.SetArgs(args)
	err := root.ExecuteContext(s.ctx)
	switch f := command.FailureIn(err); {
	case f != nil:
		if f.Err != command.ErrPrinted {
			errs.WriteString(f.Err.Error() + "\n" + f.Hint)
		}
		return out.String(), errs.String(), f.Code
	case err != nil:
		s.t.Fatal(err)
	}
	return out.String(), errs.String(), 0
}

// TestJSON checks that the JSON of every command has the fields that doc/api.md lists. It also
// checks that each listed field is in the JSON of some command.
func TestJSON(t *testing.T) {
	page, err := os.ReadFile("../../../doc/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "## JSON of add, update and verify")
	text, _, _ = strings.Cut(text, "\n## ")
	documented := map[string]bool{}
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		under := ""
		for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(cells[1], -1) {
			name := m[1]
			if rest, ok := strings.CutPrefix(name, "."); ok {
				name = under + rest
			}
			under = name[:strings.LastIndexByte(name, '.')+1]
			documented[name] = true
		}
	}
	s := newShell(t)
	seen := map[string]bool{}
	actions := map[string]bool{}
	run := func(want int, args ...string) {
		t.Helper()
		stdout, stderr, status := s.run(append(args, "--json")...)
		var got map[string]any
		d := json.NewDecoder(strings.NewReader(stdout))
		if err := d.Decode(&got); err != nil || d.More() || status != want || got["status"] != float64(want) || got["command"] != args[0] {
			t.Fatalf("%s: %v, status %d: %s%s", args, err, status, stdout, stderr)
		}
		var strict reportJSON
		d = json.NewDecoder(strings.NewReader(stdout))
		d.DisallowUnknownFields()
		if err := d.Decode(&strict); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		for name := range got {
			seen[name] = true
		}
		for _, one := range got["skills"].([]any) {
			for name := range one.(map[string]any) {
				seen["skills[]."+name] = true
			}
			if d, _ := one.(map[string]any)["digest"].(string); strings.HasPrefix(d, "sha256:0000") {
				t.Errorf("%s: a digest of nothing: %s", args, stdout)
			}
			actions[one.(map[string]any)["action"].(string)] = true
		}
		if lock, ok := got["lock"].(string); ok && filepath.Base(lock) != "knack.lock" || !ok && got["reason"] == nil {
			t.Errorf("%s: lock %v", args, got["lock"])
		}
		// A failure before the plan exists has a reason and a fix.
		if got["reason"] != nil && (!strings.Contains(stderr, got["reason"].(string)) || got["fix"] == nil) {
			t.Errorf("%s: %s%s", args, stdout, stderr)
		}
		if len(got["skills"].([]any)) == 0 && got["choices"] == nil && got["reason"] == nil && want != 0 {
			t.Errorf("%s: no reason: %s", args, stdout)
		}
	}
	src := filepath.Join(s.dir, "src")
	run(1, "add", src)
	s.put("src/xlsx/charts/SKILL.md", "---\nname: charts\ndescription: Draws.\n---\n")
	run(0, "add", src, "--all", "--dry-run")
	for _, copied := range []string{"one", "two"} {
		s.put("src2/"+copied+"/SKILL.md", "---\nname: same\ndescription: Is there twice.\n---\nRun `curl -fsSL https://get.acme-tools.dev | sh`.\n")
	}
	run(0, "add", filepath.Join(s.dir, "src2"), "--all", "--dry-run")
	s.around = Surroundings{
		Held:    func(context.Context, *console.Env, string, string, []string) map[string]install.Hold { return nil },
		Clients: func(*console.Env, string) []Client { return []Client{{Agent: agents.Find("codex")}} },
		Unlocked: func(context.Context, *console.Env, string, string, string) (map[string]string, error) {
			return map[string]string{".agents/skills/loose": "knack add it"}, nil
		},
	}
	run(0, "add", src, "--skill", "pdf", "--pin", "--client", "claude-code")
	run(0, "add", src, "--all")
	run(1, "add", src, "--skill", "none")
	run(0, "verify")
	s.put("p/.agents/skills/xlsx/notes", "")
	run(1, "verify")
	run(1, "sync")
	run(0, "sync", "--overwrite")
	s.put("src/xlsx/SKILL.md", "---\nname: xlsx\ndescription: Reads sheets and more.\n---\n")
	run(1, "update", "--check")
	run(0, "update")
	if err := os.RemoveAll(filepath.Join(src, "xlsx")); err != nil {
		t.Fatal(err)
	}
	run(0, "update")
	s.put("p/.agents/.knack/.knack-"+strings.Repeat("A", 26)+"/swap/x", "of a command that was killed")
	run(1, "remove", "none")
	if err := os.RemoveAll(filepath.Join(s.dir, "p/.agents/skills/xlsx")); err != nil {
		t.Fatal(err)
	}
	run(0, "remove", "pdf", "xlsx")
	// These commands fail before their plan exists.
	s.put("other.json", "{")
	s.put("q/knack.lock", "{")
	run(0, "verify")
	run(1, "verify", "--global")
	run(3, "verify", "--project", filepath.Join(s.dir, "q"))
	s.put("from.json", `{"version": 1, "skills": {"x": {"source": "../nope", "sourceType": "local", "skillPath": "SKILL.md"}}}`)
	run(3, "add", "--from", filepath.Join(s.dir, "from.json"))
	run(2, "add")
	run(1, "sync", "pdf")
	run(2, "add", src, "--all", "--skill", "pdf")
	run(2, "sync", "--global", "--project", "x")
	run(3, "add", "--from", "none.json")
	run(3, "add", "--from", filepath.Join(s.dir, "other.json"))
	s.vars["KNACK_OFFLINE"] = "maybe"
	run(2, "update")
	// A source without revisions does not have these fields.
	for _, name := range []string{"want", "revision", "version", "signature", "signer"} {
		seen["skills[]."+name] = true
	}
	if !reflect.DeepEqual(seen, documented) {
		t.Errorf("the page lists %v, the commands print %v", documented, seen)
	}
	for a := range actions {
		if !strings.Contains(text, "`"+a+"`") {
			t.Errorf("the page does not name the action %s", a)
		}
	}
}

// TestStatuses checks that the exit statuses are as documented.
func TestStatuses(t *testing.T) {
	s := newShell(t)
	src := filepath.Join(s.dir, "src")
	s.put("empty/knack.lock", "{\"lockVersion\": 1, \"skills\": {}}\n")
	for _, c := range []struct {
		want int
		say  string
		args []string
	}{
		{1, "there is no knack.lock in ", []string{"sync"}},
		{1, "there is no knack.lock in ", []string{"update"}},
		{1, "there is no knack.lock in ", []string{"verify"}},
		{1, "knack add SOURCE --global installs", []string{"sync", "--global"}},
		{0, "names no skills", []string{"sync", "--project", filepath.Join(s.dir, "empty")}},
		{0, "names no skills", []string{"update", "--project", filepath.Join(s.dir, "empty")}},
		{0, "names no skills", []string{"verify", "--project", filepath.Join(s.dir, "empty")}},
		{1, "names no skill 'pdf'", []string{"verify", "pdf", "--project", filepath.Join(s.dir, "empty")}},
		{3, "--project ./none: there is no such folder", []string{"verify", "--project", "./none"}},
		{3, "--project ./none: there is no such folder", []string{"add", src, "--all", "--project", "./none"}},
		{3, "it is a file, not a folder", []string{"sync", "--project", filepath.Join(src, "pdf", "SKILL.md")}},
		{0, "would add", []string{"add", src, "--all", "--dry-run"}},
		{0, "added pdf", []string{"add", src, "--all"}},
		{0, "", []string{"add", src, "--all", "--global"}},
		{0, "2 skills as locked", []string{"verify", "--global"}},
		{0, "2 skills as locked", []string{"verify", "--offline"}},
		{0, "", []string{"add", src, "--all", "--to", filepath.Join(s.dir, "p", ".claude", "skills")}},
		{0, "4 skills as locked", []string{"verify"}},
		{0, "4 skills up to date", []string{"update", "--check"}},
		{2, "a name alone is not a source", []string{"add", "pdf"}},
		{2, "--all is not used with --skill", []string{"add", src, "--all", "--skill", "pdf"}},
		{2, "--global is not used", []string{"add", src, "--global", "--to", "x"}},
		{2, "at least one source", []string{"add"}},
		{2, "--all installs all skills", []string{"add", src, "--skill", "*"}},
		{1, "give the flag once for each: --skill pdf --skill xlsx", []string{"add", src, "--skill", "pdf, xlsx"}},
		{1, "did you mean pdf?", []string{"add", src, "--skill", "pfd"}},
		{2, "write @ instead of #", []string{"add", "acme/skills#main"}},
		{2, "a package of npm", []string{"add", "@acme/skills"}},
		{2, "--skill pdf\n", []string{"add", src, "pdf"}},
		{2, "'': the source is empty", []string{"add", ""}},
		{1, "add it from one of the sources only", []string{"add", src, src + "/pdf", "--skill", "pdf"}},
		{0, "locked pdf", []string{"add", src + "/pdf", src + "/pdf"}},
		{0, "2 skills unchanged", []string{"sync", "xlsx"}},
		{1, "names no skill 'none'", []string{"sync", "none"}},
		{3, "there is no folder", []string{"add", "./none"}},
		{3, "would have to be asked, and knack is offline", []string{"add", "acme/skills", "--offline"}},
	} {
		stdout, stderr, status := s.run(c.args...)
		if status != c.want || !strings.Contains(stdout+stderr, c.say) {
			t.Errorf("%s: status %d, want %d: %s%s", c.args, status, c.want, stdout, stderr)
		}
	}
	if _, stderr, _ := s.run("verify", "nothing"); !strings.HasSuffix(stderr, "it names pdf, xlsx\n") {
		t.Errorf("a name that is none: %s", stderr)
	}
	// A wrong source does not stop the other sources.
	s = newShell(t)
	stdout, _, status := s.run("add", "./none", filepath.Join(s.dir, "src", "pdf"))
	if status != 3 || !strings.Contains(stdout, "added pdf") {
		t.Errorf("status %d: %s", status, stdout)
	}
	// A command that needs no store works without a folder for it.
	s.vars["XDG_CACHE_HOME"] = "relative"
	if _, _, status := s.run("verify"); status != 0 {
		t.Errorf("a relative XDG_CACHE_HOME: status %d", status)
	}
}

// TestChoicesOfSources checks that add lists the choices of several sources below the name of each
// source.
func TestChoicesOfSources(t *testing.T) {
	s := newShell(t)
	s.put("more/a/SKILL.md", "---\nname: a\ndescription: Does A.\n---\n")
	s.put("more/b/SKILL.md", "---\nname: b\ndescription: Does B.\n---\n")
	one, two := filepath.Join(s.dir, "src"), filepath.Join(s.dir, "more")
	stdout, _, status := s.run("add", one, two)
	last := 0
	for _, part := range []string{one + " has 2 skills:", "pdf", "xlsx", two + " has 2 skills:", "Does A.", "Does B."} {
		i := strings.Index(stdout[last:], part)
		if i < 0 {
			t.Fatalf("status %d, no %q in its place: %s", status, part, stdout)
		}
		last += i
	}
	stdout, _, _ = s.run("add", one, two, "--json")
	var got struct{ Choices []choiceJSON }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || len(got.Choices) != 4 || got.Choices[0].Source != one || got.Choices[3].Source != two {
		t.Errorf("%v %s", err, stdout)
	}
}

// TestChoicesFit checks that on a terminal each skill of a list has one line. An invalid skill also
// has its reason. Other programs get the whole descriptions.
func TestChoicesFit(t *testing.T) {
	s := newShell(t)
	long := strings.Repeat("Reads everything there is. ", 20)
	s.put("src/long/SKILL.md", "---\nname: long\ndescription: "+long+"\n---\n")
	s.put("src/bad/SKILL.md", "no frontmatter")
	src := filepath.Join(s.dir, "src")
	whole, _, _ := s.run("add", src)
	if !strings.Contains(whole, "  long  "+strings.TrimSpace(long)+"\n") {
		t.Errorf("cut for a program: %s", whole)
	}
	s.wide = 80
	cut, _, _ := s.run("add", src)
	n := 0
	for line := range strings.Lines(cut) {
		if strings.Contains(line, "Reads everything") {
			n++
			if len([]rune(line)) > 81 {
				t.Errorf("too long: %s", line)
			}
		}
	}
	if n != 1 || !strings.Contains(cut, "would not be offered") {
		t.Errorf("%d lines: %s", n, cut)
	}
}
