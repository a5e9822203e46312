package typo

import "testing"

func TestIsMainFile(t *testing.T) {
	for _, name := range []string{
		"SKILLS.md", "SKILL.md.txt", "skill.md.md", "SKILL.markdown", "SKILL.mdx", "Skill.txt", "SKILL (1).md", "SKILL(2).md", "SKILL copy.md",
		"SKILL-1.md", "SKILL_md", "SKILLmd", "SKILL,md", "SKILL.md~", "SKILL.md.bak", "SKILL.docx", "SKILL", "SKILLS", "SKILL.dm", "SKIL.md", "SKILLL.md", "SIKLL.md", "KSILL.md", "SKLIL.md",
		".SKILL.md", ".skill.md", "SKILL.md ", " SKILL.md", "SKILL\u200b.md", "SKILL.md\u00a0", "SKILL - Copy.md", "SKILL - Copy (2).md", "Copy of SKILL.md", "SKILL.md.tmp", "SKILL .md", "SKILL..md", "_SKILL.md", "SKILL.en.md", "SKILL.zh-CN.md", "SKILL.md (1)", "ЅKILL.md", "SКILL.md", "S\u212aILL.md", "ＳＫＩＬＬ.md",
		"SKILL-draft.md", "SKILL.local.md", "SKILL_WIP.md", "SKILL draft.md", "skill.draft.md", "SKlLL.md", "SKI1L.md", "SKILl.txt",
	} {
		if !IsMainFile(name) {
			t.Errorf("%q is not near", name)
		}
	}
	for _, name := range []string{
		"SKILL.md", "skill.md", "Skill.MD", "README.md", "skill", "skills", "skill-evals.md", "skills-index.md", "skill.go", "skill.py", "skill.html", "skill.json", "skill.md.template",
		"still.md", "spill.md", "skull.md", "kill.md", "shill.md", "skill_test.go", "sk.md", "", "s", "s.md", "sql.md", "silk.md", "my-skill.md", "md", "copy of README.md", "contributing.md", "skill-copywriting.md", "skill.test.md", "_skills", "skill.sh.py", ".skills", ".ssh", ".SKILL.md.swp", "skill-drafts.md", "skill-locale.md", "SKILL.localhost.md", "skull1.md", "SKILL.local.json",
	} {
		if IsMainFile(name) {
			t.Errorf("%q is near", name)
		}
	}
}

// TestIsDraft checks which names IsDraft reports as marked inactive.
func TestIsDraft(t *testing.T) {
	for name, want := range map[string]bool{
		"SKILL-draft.md": true, "SKILL.local.md": true, "skill_wip.md": true, "SKILL draft.txt": true,
		"SKILL.md": false, "SKILLS.md": false, "SKILL-1.md": false, "SKILL copy.md": false, "SKILL.drafty.md": false, "draft.md": false,
	} {
		if IsDraft(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
}

func BenchmarkIsMainFile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		for _, name := range []string{"README.md", "LICENSE", "script.py", "main.go", "sink.go", "reference.md"} {
			if IsMainFile(name) {
				b.Fatal(name)
			}
		}
	}
}
