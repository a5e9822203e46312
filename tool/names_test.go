package tool

import (
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/difftest"
)

// TestFoundNamesWorkInEveryTool checks that every name that find_skills gives loads its skill and
// reads its files, for any name of skill and folder.
func TestFoundNamesWorkInEveryTool(t *testing.T) {
	deep := strings.Repeat("long-folder-name/", 11) + strings.Repeat("x", 100)
	files := map[string]string{}
	for folder, name := range map[string]string{
		"a/same": "same", "b/same": "same", "c/same": "Same", "ci": "CI/CD Pipeline", `w\in`: `back\slash`, "dots": "wait...",
		`x\y/twice`: "twice", "z/twice": "twice", "p..q/thrice": "thrice", "r/thrice": "thrice", "m": "claude-user:a:same",
		"n/b:c": "colon", "n/b/c": "colon", "n/b": "colon", "slash": "../../etc", "l": "line", "k/l": "line",
		deep: "deep", "o/deep": "deep", "per%cent/v": "v", "q/v": "v", "one/w%2fx": "w", "two/w%2fx": "w",
	} {
		files[folder+"/SKILL.md"] = md(name, "Lies in "+folder)
		files[folder+"/where.txt"] = folder
	}
	h := hostOf(t, project(map[string]string{"same/SKILL.md": md("same", "Lies in same"), "same/where.txt": "same"}), global(files))
	r := answerOf(t, h, args{"limit": 100})
	difftest.Same(t, len(r.skills), len(files)/2+1)
	for _, f := range r.skills {
		where := strings.TrimPrefix(f.description, "Lies in ")
		loaded := call(t, h, "default", "skill", args{"name": f.name})
		if !strings.Contains(loaded.Text, "\ndescription: Lies in "+where+"\n") {
			t.Errorf("%s is given as %q, which loads %q", where, f.name, loaded.Text)
		}
		for _, name := range []string{f.name, f.uri} {
			if read := call(t, h, "default", "read_file_in_skill", args{"skill_name": name, "file_path": "where.txt"}); read.Text != where {
				t.Errorf("%s is given as %q, which reads %q", where, name, read.Text)
			}
		}
	}
}
