package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/help"
	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// everyCommand calls visit for a command and each command below it that a user may run.
func everyCommand(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		if !sub.Hidden || sub.Name() == "help" {
			everyCommand(sub, visit)
		}
	}
}

func TestHelpFitsTerminal(t *testing.T) {
	everyCommand(newRoot(&console.Env{}), func(c *cobra.Command) {
		var out bytes.Buffer
		c.SetOut(&out)
		c.InitDefaultHelpFlag()
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			if n := utf8.RuneCountInString(line); n > help.Width || strings.TrimRight(line, " ") != line {
				t.Errorf("%s --help: %d columns, or a space at the end: %q", c.CommandPath(), n, line)
			}
		}
		checkBreaks(t, c.CommandPath()+" --help", c.Long)
	})
	for _, topic := range help.Topics {
		checkBreaks(t, "help "+topic.Name, topic.Text(newRoot(&console.Env{})))
	}
}

// checkBreaks checks that a line of prose ends early only before a list or an empty line.
func checkBreaks(t *testing.T, name, text string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for i, next := range lines[1:] {
		word, _, _ := strings.Cut(next, " ")
		if line := lines[i]; line != "" && line[0] != ' ' && word != "" && utf8.RuneCountInString(line)+1+len(word) <= help.Width-8 {
			t.Errorf("%s: a line ends early: %q", name, line)
		}
	}
}

// TestHelpGroups checks that each visible command is in exactly one group.
func TestHelpGroups(t *testing.T) {
	var grouped, all []string
	for _, g := range help.Groups {
		grouped = append(grouped, g.Commands...)
	}
	for _, c := range help.Commands(newRoot(&console.Env{})) {
		all = append(all, c.Name())
	}
	slices.Sort(grouped)
	slices.Sort(all)
	if !slices.Equal(grouped, all) {
		t.Errorf("the groups have %s, and the commands are %s", grouped, all)
	}
}

// TestExamples runs the examples of every command's help in a shell, except for login. Each must
// succeed. They run in order, in a project with the files that they name. Local stand-ins replace
// the port, paths below /etc and /srv, registries and GitHub.
func TestExamples(t *testing.T) {
	testwait.Slow(t)
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("it runs programs in a shell")
	}
	t.Parallel()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	w := exampleWorld(t)
	w.connect(t, shell)
	ran := 0
	everyCommand(newRoot(&console.Env{}), func(c *cobra.Command) {
		examples := strings.Split(c.Example, "\n")
		if n := len(examples); n < 1 || n > 4 {
			t.Errorf("%s has %d examples, not one to four", c.CommandPath(), n)
		}
		for _, line := range examples {
			if !strings.Contains(line, "knack "+strings.TrimPrefix(c.CommandPath(), "knack")) && !strings.Contains(line, c.CommandPath()) {
				t.Errorf("%s has an example of something else: %s", c.CommandPath(), line)
			}
			switch {
			case c.Name() == "login" || c.Name() == "logout": // TestLogin has a provider
				continue
			case strings.Contains(line, "serve --http 8080"):
				w.serve(t, shell, strings.Replace(line, "8080", "0", 1))
			default:
				w.run(t, shell, w.local(line))
			}
			ran++
		}
	})
	t.Logf("%d examples", ran)
}

// world is a home folder and a project in which the examples run. It has a model, a registry and a
// server.
type world struct{ home, project, model, registry, port string }

// connect creates the repository and the releases that the examples name, and starts the server.
func (w *world) connect(t *testing.T, shell string) {
	w.run(t, shell, "git -C ~/library init -qb main && git -C ~/library add . && git -C ~/library -c user.name=a -c user.email=a@example.com commit -qm x && git -C ~/library tag v1.2.0")
	w.registry = registrytest.Start(t).Host
	for _, tag := range []string{"v1.2.0", "1.2.0", "prod"} {
		registrytest.Release(t, w.registry, "acme/skills", tag, 1, registrytest.Skills{"pdf/SKILL.md": registrytest.Skill("pdf", "Read.")}, nil)
		registrytest.Release(t, w.registry, "staging/skills", tag, 1, registrytest.Skills{"pdf/SKILL.md": registrytest.Skill("pdf", "Read.")}, nil)
	}
	w.port = regexp.MustCompile(`:(\d+)/`).FindStringSubmatch(w.serve(t, shell, "knack serve --http 0"))[1]
}

// local replaces the external places in a command with local ones: GitHub, registries, the port of
// the server, and folders below /etc and /srv.
func (w *world) local(line string) string {
	library := "git+file://" + w.home + "/library"
	return strings.NewReplacer(
		"ghcr.io/acme/", w.registry+"/acme/", "registry.example.com/acme/", w.registry+"/acme/", "staging.example.com/acme/", w.registry+"/staging/",
		"acme/skills", library, "acme/plugins", library, "/etc/", "~/etc/", "/srv/", "~/srv/", ":8080/", ":"+w.port+"/",
	).Replace(line)
}

// scriptedModel starts a model that first loads the skill review and then answers.
func scriptedModel(t *testing.T) (url string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		message := `"content":"It is good."},"finish_reason":"stop"`
		if !bytes.Contains(body, []byte(`"role":"tool"`)) {
			message = `"tool_calls":[{"id":"1","type":"function","function":{"name":"skill","arguments":"{\"name\":\"review\"}"}}]},"finish_reason":"tool_calls"`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant",%s}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, message)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func exampleWorld(t *testing.T) *world {
	top := t.TempDir()
	w := &world{home: filepath.Join(top, "home"), project: filepath.Join(top, "project"), model: scriptedModel(t)}
	skill := "---\nname: review\ndescription: Reviews a pull request. Use when asked for a review.\n---\nSee [the style](references/style.md).\n"
	w.write(t, map[string]string{
		"home/.claude/skills/review/SKILL.md":               skill,
		"home/.claude/skills/review/references/style.md":    "Be brief.\n",
		"home/skills/deploy/SKILL.md":                       "---\nname: deploy\ndescription: d\n---\n",
		"home/library/pdf/SKILL.md":                         "---\nname: pdf\ndescription: Reads PDF files.\n---\n",
		"home/library/xlsx/SKILL.md":                        "---\nname: xlsx\ndescription: Reads sheets.\n---\n",
		"project/skills-lock.json":                          `{"version": 1, "skills": {"xlsx": {"source": "../home/library", "sourceType": "local", "skillPath": "xlsx/SKILL.md", "computedHash": "00"}}}`,
		"home/.zfunc/x":                                     "",
		"home/.config/fish/completions/x":                   "",
		"home/srv/x":                                        "",
		"home/etc/knack/knack.yaml":                         "log:\n  level: info\n",
		"project/my-plugin/.claude-plugin/plugin.json":      `{"name": "my-plugin", "description": "Reads PDF files.", "version": "1.0.0"}`,
		"project/my-plugin/skills/forms/SKILL.md":           "---\nname: forms\ndescription: Reads PDF files. Use when asked to read one.\n---\nRead it.\n",
		"project/.git/HEAD":                                 "ref: refs/heads/main\n",
		"project/.claude/skills/review/SKILL.md":            skill,
		"project/.claude/skills/review/references/style.md": "Be brief.\n",
		"project/.claude/skills/commit/SKILL.md":            "---\nname: commit\ndescription: Writes a commit message. Use when asked to commit.\n---\nBe brief.\n",
		"project/skills/deploy/SKILL.md":                    "---\nname: deploy\ndescription: Deploys a service. Use when asked to deploy one.\n---\nDeploy it.\n",
		"project/.claude/skills/review/evals/triggers.json": `[{"query": "review this pull request", "should_trigger": true}]`,
		"project/prompts.json":                              `[{"query": "is this change good? review it", "should_trigger": true}]`,
		"project/question.txt":                              "Is this change good?\n",
		"project/call.json":                                 `{"id":"1","type":"function","function":{"name":"find_skills","arguments":"{}"}}`,
		"project/content.json":                              `[{"type":"tool_use","id":"1","name":"find_skills","input":{}}]`,
	})
	return w
}

// write writes files. Their paths are relative to the parent folder of home and project.
func (w *world) write(t *testing.T, files map[string]string) {
	for file, text := range files {
		file = filepath.Join(filepath.Dir(w.home), filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// command returns a command that runs a line in a shell. The knack in PATH is this test binary: see
// TestMain.
func (w *world) command(ctx context.Context, shell, line string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(ctx, shell, "--norc", "-euo", "pipefail", "-c", line)
	cmd.Dir = w.project
	cmd.Env = append(os.Environ(), "HOME="+w.home, "XDG_CONFIG_HOME=", "KNACK_DIRS=", "KNACK_TOKEN=", "LLM_API_BASE_URL="+w.model, "LLM_MODEL_NAME=scripted", "LLM_API_KEY=")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

func (w *world) run(t *testing.T, shell, line string) {
	cmd, out := w.command(t.Context(), shell, line)
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v\n%s", strings.TrimSpace(line), err, out)
	}
}

// serve runs a server until the test ends. It returns the address that the server prints.
func (w *world) serve(t *testing.T, shell, line string) (url string) {
	ctx, cancel := context.WithCancel(context.Background())
	cmd, _ := w.command(ctx, shell, "exec "+strings.TrimSpace(line))
	cmd.Stderr = nil
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	errs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		rest, _ := io.ReadAll(errs)
		if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 0 {
			t.Errorf("%s: %v\n%s", line, err, rest)
		}
	})
	said := make([]byte, 0, 1024)
	for {
		n, err := errs.Read(said[len(said):cap(said)])
		said = said[:len(said)+n]
		if found := regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp\n`).Find(said); found != nil {
			return strings.TrimSpace(string(found))
		}
		if err != nil || len(said) == cap(said) {
			t.Fatalf("%s: %v\n%s", line, err, said)
		}
	}
}

// TestSharedFlags checks that a flag of several commands has the same name, short form and meaning
// in each.
func TestSharedFlags(t *testing.T) {
	short := map[string]string{"global": "g", "yes": "y", "quiet": "q", "verbose": "v", "dry-run": "n"}
	usage := map[string]string{"project": command.ProjectUsage}
	everyCommand(newRoot(&console.Env{}), func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if want, ok := short[f.Name]; ok && f.Shorthand != want {
				t.Errorf("%s --%s has the short form '%s', want '%s'", c.CommandPath(), f.Name, f.Shorthand, want)
			}
			if want, ok := usage[f.Name]; ok && f.Usage != want {
				t.Errorf("%s --%s: %s", c.CommandPath(), f.Name, f.Usage)
			}
		})
	})
}
