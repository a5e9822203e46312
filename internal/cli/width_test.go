package cli_test

import (
	"cmp"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli"
)

// broken maps the files of faulty skills to their contents.
var broken = map[string]string{
	"bad-yaml/SKILL.md":       "---\nname: bad-yaml\ndescription: \"never closed " + strings.Repeat("and longer ", 20) + "\nallowed-tools: [a, b\n---\n",
	"colon/SKILL.md":          "---\nname: colon\ndescription: Use when: there is a colon in the description of a skill, which YAML does not allow\n---\n",
	"cjk/SKILL.md":            "---\nname: cjk\ndescription: " + strings.Repeat("在提交代码之前使用此技能来检查代码质量", 40) + "\n---\n",
	"Upper_Case/SKILL.md":     "---\nname: Upper_Case\ndescription: A name with capitals.\n---\n[a](missing.md) [b](../outside.md)\n",
	"no-description/SKILL.md": "---\nname: no-description\n---\n",
	"no-fence/SKILL.md":       strings.Repeat("A long line without frontmatter. ", 20),
	"renamed/SKILL.md":        "---\nname: another-name\ndescription: The folder has another name.\n---\n",
	"near/SKILLS.md":          "---\nname: near\ndescription: The file has another name.\n---\n",
	"empty/SKILL.md":          "",
	"git/SKILL.md":            "---\nname: git\ndescription: Shadows another skill of the name.\n---\n",
}

// TestWidth checks that no line of a report is wider than the terminal, even on a dumb terminal of
// 60 columns without UTF-8. Such a terminal has no colours. A pipe must get each item in one line.
func TestWidth(t *testing.T) {
	for _, width := range []int{80, 60, 0} {
		terminal := width > 0
		env := environment(t)
		env.Width, env.StdoutTerminal, env.StderrTerminal = cmp.Or(width, 80), terminal, terminal
		env.Getenv = func(name string) string {
			return map[int]map[string]string{60: {"TERM": "dumb", "LC_ALL": "C"}}[width][name]
		}
		if width != 60 {
			env.Getenv = func(name string) string { return map[string]string{"NO_COLOR": "1"}[name] }
		}
		for name, text := range broken {
			put(t, filepath.Join(env.Dir, ".claude/skills", name), text)
		}
		wide := 0
		for _, command := range []string{
			"list", "list --all", "add .claude/skills/git --dry-run --to elsewhere", "doctor", "doctor --all", "doctor --verbose", "doctor bad-yaml", "doctor colon", "doctor cjk", "doctor git", "doctor Upper_Case",
			"doctor none", "check", "check --info --strict", "search name", "search --explain deploy", "config check", "connect", "list --exclude nothing", "show nothing", "help none",
		} {
			out, told := new(locked), new(locked)
			env.Stdout, env.Stderr = out, told
			if code := cli.Main(t.Context(), env, strings.Fields(command)); code > 2 {
				t.Errorf("%s: exit status %d", command, code)
			}
			for line := range strings.Lines(out.String() + told.String()) {
				line = line[strings.LastIndex(line, "\r")+1:] // without the progress line
				if strings.Contains(line, "\x1b") {
					t.Errorf("%s: an escape: %q", command, line)
				}
				if !strings.Contains(strings.TrimSpace(line), " ") {
					continue // a single word, such as a path
				}
				if columns := display.Columns(strings.TrimSuffix(line, "\n")); columns > cmp.Or(width, 80) {
					wide++
					if terminal {
						t.Errorf("%s: a line of %d columns: %s", command, columns, line)
					}
				}
			}
			if out.String()+told.String() == "" {
				t.Errorf("%s: says nothing", command)
			}
		}
		if !terminal && wide == 0 {
			t.Error("a pipe gets broken lines")
		}
	}
}
