package tool

import (
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/profile"
)

// TestUnlisted checks that skills that the client shows itself are in no list of any set, and that
// they load by name and by URI. A model that searches for them is not told that they are absent.
func TestUnlisted(t *testing.T) {
	theirs := global(map[string]string{
		"pdf/SKILL.md": md("pdf", "Fills forms in PDF files."), "pdf/forms.md": "Forms.\n", "git/SKILL.md": md("git", "Their git"), "lost/SKILL.md": "none",
	})
	theirs.In.Unlisted, theirs.In.UnlistedBy, theirs.In.ShownBy = true, "--exclude", "Amp,Claude Code"
	h := hostOf(t, project(map[string]string{"git/SKILL.md": md("git", "Our git")}), theirs)
	v := viewOf(t, h)
	claude := profile.Client{Name: "claude-code", Version: "2.1.330"}
	for _, set := range []string{"default", "universal", "wave", "runner", "uri"} {
		for _, tl := range toolsOf(t, set) {
			if d := tl.Define(v, claude).Description; strings.Contains(d, "pdf<") || strings.Contains(d, "Fills forms") {
				t.Errorf("%s %s lists it: %s", set, tl.Name, d)
			}
		}
		if text := Instructions(v, toolsOf(t, set), claude); strings.Contains(text, "pdf") || strings.Contains(text, "lost") {
			t.Errorf("%s: the instructions: %s", set, text)
		}
		if text := Prompt(v, toolsOf(t, set)); strings.Contains(text, "pdf") {
			t.Errorf("%s: the prompt: %s", set, text)
		}
	}
	for _, set := range []string{"runner", "uri"} {
		if text := call(t, h, set, "list_skills", args{}).Text; strings.Contains(text, "pdf") {
			t.Errorf("%s lists it: %s", set, text)
		}
	}
	loaded := "Loading: pdf\nBase directory: /home/ana/.claude/skills/pdf\n\n" + md("pdf", "Fills forms in PDF files.")
	for _, name := range []string{"pdf", "PDF", "claude-user:pdf", "skill://claude-user/pdf/SKILL.md"} {
		difftest.Same(t, call(t, h, "default", "skill", args{"name": name}), Result{Text: loaded})
	}
	difftest.Same(t, call(t, h, "universal", "skill", args{"name": "pdf"}), Result{Text: loaded})
	difftest.Same(t, call(t, h, "default", "read_file_in_skill", read("pdf", "forms.md")), Result{Text: "Forms.\n"})
	difftest.Same(t, call(t, h, "runner", "read_file_in_skill", read("pdf", "forms.md")).Text, "Forms.\n")
	difftest.Same(t, call(t, h, "uri", "get_skill", args{"uri": "skill://pdf/SKILL.md"}).IsError, false)
	difftest.Same(t, call(t, h, "wave", "Skill", args{"skill_name": "pdf"}).IsError, false)
	if text := call(t, h, "default", "skill", args{"name": "git"}).Text; !strings.Contains(text, "Our git") {
		t.Errorf("one that is not listed comes before one that is: %s", text)
	}

	const git = "Skills 1 to 1 of 1:\n- git (project, skill://claude-project/git/SKILL.md): Our git"
	for _, row := range []struct {
		client profile.Client
		query  string
		want   string
	}{
		{claude, "forms", "No listed skill matches 'forms'.\nNot listed here, since Claude Code shows the skills of those folders itself: pdf (claude-user). They load here too, by these names."},
		{profile.Client{Name: "codex-mcp-client"}, "pdf", "No listed skill matches 'pdf'.\nNot listed here, because --exclude leaves out their folders: pdf (claude-user). They load here too, by these names."},
		{profile.Client{}, "pdf", "No listed skill matches 'pdf'.\nNot listed here, because --exclude leaves out their folders: pdf (claude-user). They load here too, by these names."},
		{claude, "git", git + "\nNot listed here, since Claude Code shows the skills of those folders itself: claude-user:git (claude-user). They load here too, by these names."},
		{claude, "", git + "\nNot listed here, since Claude Code shows the skills of those folders itself: claude-user:git (claude-user), pdf (claude-user). They load here too, by these names."},
		{claude, "chess", "No skill matches 'chess'. Try other words, or leave the query out to list all skills."},
		{claude, "lost", "No skill matches 'lost'. Try other words, or leave the query out to list all skills.\n'lost' was skipped: ~/.claude/skills/lost/SKILL.md:1:1: the file has no frontmatter (begin the file with ---, name:, description: and --- on lines of their own)"},
	} {
		difftest.Same(t, callBy(t, h, row.client, "default", "find_skills", args{"query": row.query}), Result{Text: row.want})
	}
	for _, e := range v.Listed {
		if e.Root.Scope != skill.ScopeProject {
			t.Errorf("%s is listed", e.URI())
		}
	}
}

// TestManyUnlisted checks that an answer names only a few unlisted skills, however many there are.
func TestManyUnlisted(t *testing.T) {
	theirs := many(300, 40)
	theirs.In.Unlisted, theirs.In.UnlistedBy = true, "--exclude"
	text := call(t, hostOf(t, theirs), "default", "find_skills", args{}).Text
	if !strings.HasPrefix(text, "No skill is listed.\nNot listed here, because --exclude leaves out their folders: ") || !strings.Contains(text, ", and 295 more. ") || display.Length(text) > 700 {
		t.Error(text)
	}
}

// TestInstructionsOfTheirs checks the instructions if the application shows all skills itself. They
// claim neither that there are no skills, nor that the application's own tool does not know them.
func TestInstructionsOfTheirs(t *testing.T) {
	theirs := global(map[string]string{"pdf/SKILL.md": md("pdf", "Fills forms.")})
	theirs.In.ShownBy = "Claude Code"
	claude := profile.Client{Name: "claude-code", Version: "2.1.330"}
	text := Instructions(viewOf(t, hostOf(t, theirs)), toolsOf(t, "default"), claude)
	if strings.Contains(text, "`Skill` does not know") || !strings.Contains(text, "`Skill` knows these skills too.") {
		t.Error(text)
	}
	theirs.In.Unlisted = true
	text = Instructions(viewOf(t, hostOf(t, theirs)), toolsOf(t, "default"), claude)
	difftest.Same(t, text, "This server lists no skills (instructions for particular tasks). Those in folders that it leaves to the application load by name with this server's tool `skill`. If the user asks for one, search with `find_skills`.")
	if display.Length(text) > headLength {
		t.Errorf("it has %d characters", display.Length(text))
	}
	theirs.In.ShownBy = "Gemini CLI" // another application's folder
	text = Instructions(viewOf(t, hostOf(t, theirs)), toolsOf(t, "default"), claude)
	if !strings.Contains(text, "Those in folders that it is configured to leave out load by name") || strings.Contains(text, "application") {
		t.Error(text)
	}
}
