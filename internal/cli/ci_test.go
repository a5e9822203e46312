package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// readYAML decodes a YAML text into a value.
func readYAML(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func atRoot(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// ran runs knack, and returns its output and exit status.
func ran(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return ranWith(t, dir, "", args...)
}

// ranWith is [ran] with text on standard input.
func ranWith(t *testing.T, dir, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	env := console.Env{Stdout: new(locked), Stderr: new(locked), Stdin: strings.NewReader(stdin), Getenv: func(string) string { return "" }, Dir: dir, Home: t.TempDir()}
	code = cli.Main(t.Context(), env, args)
	return env.Stdout.(*locked).String(), env.Stderr.(*locked).String(), code
}

// put writes a file, with the folders above it.
func put(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// goodAndBad returns a folder with a valid skill and an invalid one.
func goodAndBad(t *testing.T) (dir, good, bad string) {
	t.Helper()
	dir = t.TempDir()
	good = filepath.Join(dir, "good", "SKILL.md")
	put(t, good, "---\nname: good\ndescription: Reads PDF files. Use it for any task about PDFs.\n---\n\n# Good\n\nRead the file.\n")
	bad = filepath.Join(dir, "bad", "SKILL.md")
	put(t, bad, "---\nname: bad: worse\n---\n")
	return dir, good, bad
}

// TestPreCommitHooks checks that the hooks match every spelling of SKILL.md and no other file, and
// run an existing command.
func TestPreCommitHooks(t *testing.T) {
	var hooks []struct {
		ID, Name, Entry, Language, Files string
		Args                             []string
	}
	readYAML(t, atRoot(t, ".pre-commit-hooks.yaml"), &hooks)
	if len(hooks) != 2 {
		t.Fatalf("%d hooks", len(hooks))
	}
	for _, h := range hooks {
		files, err := regexp.Compile(h.Files)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"SKILL.md": true, "a/b/SKILL.md": true, "a/skill.MD": true, "a/MYSKILL.md": false, "a/SKILL.mdx": false, "README.md": false} {
			if files.MatchString(name) != want {
				t.Errorf("%s: %s", h.ID, name)
			}
		}
		words := strings.Fields(h.Entry)
		if info, err := os.Stat(filepath.Join("../..", words[0])); h.Language != "script" || h.Name == "" || err != nil || info.Mode()&0o100 == 0 && runtime.GOOS != "windows" {
			t.Errorf("%+v %v", h, err)
		}
		if _, stderr, code := ran(t, t.TempDir(), words[1], "--help"); code != 0 {
			t.Errorf("%s: %s", h.ID, stderr)
		}
	}
	dir, good, bad := goodAndBad(t)
	hyphen := underHyphen(t, dir)
	for _, h := range hooks {
		args := append(strings.Fields(h.Entry)[1:], h.Args...)
		if out, stderr, code := ran(t, dir, append(args, hyphen)...); code != 1 || !strings.Contains(out, "[name-missing]") {
			t.Errorf("%s: a name with a hyphen: %d %s %s", h.ID, code, out, stderr)
		}
		if out, stderr, code := ran(t, dir, append(args, good)...); code != 0 {
			t.Errorf("%s: %d %s %s", h.ID, code, out, stderr)
		}
		if out, _, code := ran(t, dir, append(args, good, bad)...); code != 1 || !strings.Contains(out, "bad") {
			t.Errorf("%s: %d %s", h.ID, code, out)
		}
	}
}

// underHyphen writes an invalid skill whose path looks like a flag, and returns the path.
func underHyphen(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join("--ignore=name-missing", "SKILL.md")
	put(t, filepath.Join(dir, path), "---\ndescription: Use when asked.\n---\n")
	return path
}

type step struct {
	Name, Uses, Shell, Run, If string
	Env, With                  map[string]string
}

// TestAction checks that the action parses, that it pastes no input into a script, and that its
// scripts work on this machine.
func TestAction(t *testing.T) {
	testwait.Slow(t)
	t.Parallel()
	var action struct {
		Name, Description string
		Inputs            map[string]struct{ Description, Default string }
		Runs              struct {
			Using string
			Steps []step
		}
	}
	readYAML(t, atRoot(t, "action.yml"), &action)
	if action.Runs.Using != "composite" || action.Name == "" || len(action.Inputs) != 4 || len(action.Runs.Steps) != 4 {
		t.Fatalf("%+v", action)
	}
	used := map[string]bool{}
	for _, s := range action.Runs.Steps {
		if s.Uses != "" && !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(s.Uses) {
			t.Errorf("%s can become another one: name the commit", s.Uses)
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("%s: an input becomes part of a script", s.Name)
		}
		for _, value := range s.Env {
			for _, m := range regexp.MustCompile(`inputs\.(\w+)`).FindAllStringSubmatch(value, -1) {
				used[m[1]] = true
			}
		}
	}
	for name, in := range action.Inputs {
		if !used[name] || in.Description == "" {
			t.Errorf("the input %s is not used, or not described", name)
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no bash")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	script := func(dir string, s step, env ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), bash, "-e", "-o", "pipefail", "-c", s.Run)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), append(env, "GITHUB_ACTION_PATH="+root, "RUNNER_TEMP="+temp, "GOFLAGS=-buildvcs=false")...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	// Without a release of this repository, the action builds knack. Package deploy/release tests
	// downloads.
	outputs := filepath.Join(temp, "outputs")
	if out, err := script(t.TempDir(), action.Runs.Steps[0], "VERSION=main", "GITHUB_OUTPUT="+outputs); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if data, err := os.ReadFile(outputs); err != nil || string(data) != "build=true\n" {
		t.Fatalf("%v\n%s", err, data)
	}
	for _, s := range action.Runs.Steps[1:3] {
		if s.If != "steps.download.outputs.build == 'true'" {
			t.Errorf("%s is for %q", s.Name, s.If)
		}
	}
	if out, err := script(t.TempDir(), action.Runs.Steps[2]); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), filepath.Join(temp, "knack-bin", "knack"), "version").Output(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir, _, _ := goodAndBad(t)
	inputs := func(path, format, output string) []string {
		return []string{"INPUT_PATH=" + path, "INPUT_FORMAT=" + format, "INPUT_STRICT=true", "INPUT_OUTPUT=" + output}
	}
	if out, err := script(dir, action.Runs.Steps[3], inputs("good\n", "github", "")...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := script(dir, action.Runs.Steps[3], inputs("good\nbad\n", "github", "")...); err == nil || !strings.Contains(out, "::error ") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := script(dir, action.Runs.Steps[3], inputs(underHyphen(t, dir)+"\n", "github", "")...); err == nil || !strings.Contains(out, "title=name-missing::") {
		t.Errorf("a path that looks like a flag: %v\n%s", err, out)
	}
	if out, err := script(dir, action.Runs.Steps[3], inputs(".", "sarif", "out.sarif")...); err == nil {
		t.Errorf("nothing is found: %s", out)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "out.sarif")); err != nil || !strings.Contains(string(data), `"2.1.0"`) {
		t.Errorf("%v\n%s", err, data)
	}
}

// TestCIExamples checks that the examples in doc/ci.md parse, use this repository's hooks and
// inputs, and name existing commands.
func TestCIExamples(t *testing.T) {
	text := string(atRoot(t, "doc/ci.md"))
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(blocks) != 3 {
		t.Fatalf("%d examples", len(blocks))
	}
	known := string(atRoot(t, ".pre-commit-hooks.yaml")) + string(atRoot(t, "action.yml"))
	for _, b := range blocks {
		var example struct {
			Repos []struct{ Hooks []struct{ ID string } }
			Jobs  map[string]struct{ Steps []step }
		}
		readYAML(t, []byte(b[1]), &example)
		n := 0
		for _, r := range example.Repos {
			for _, h := range r.Hooks {
				n++
				if !strings.Contains(known, "id: "+h.ID+"\n") {
					t.Errorf("there is no hook %s", h.ID)
				}
			}
		}
		for _, j := range example.Jobs {
			for _, s := range j.Steps {
				if !strings.HasPrefix(s.Uses, "knack-dev/knack@") {
					continue
				}
				n++
				for input := range s.With {
					if !strings.Contains(known, "\n  "+input+":\n") {
						t.Errorf("there is no input %s", input)
					}
				}
			}
		}
		if n != 1 {
			t.Errorf("not about knack:\n%s", b[1])
		}
	}
}
