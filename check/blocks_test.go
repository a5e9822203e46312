package check

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path"
	"testing"

	"github.com/knack-dev/knack/skill"
)

// What Fix promises holds for 15,418 real blocks of frontmatter, and of those that
// YAML refuses it mends most.
func TestFixBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	f, err := os.Open(corpusDir(t, "frontmatter.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	var total, refused, sound int
	for lines.Scan() {
		var r struct{ Dir, Frontmatter string }
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		total++
		data := []byte("---\n" + r.Frontmatter + "---\n# Body\n")
		folder := path.Base(r.Dir)
		got, _ := Fix(data, folder, Certain)
		checkFixed(t, r.Dir, data, got, folder, Certain)
		if syntax(data) {
			refused++
			if !syntax(got) {
				sound++
			}
		}
	}
	if total != 15418 {
		t.Errorf("%d blocks, want 15,418", total)
	}
	if sound*100 < refused*80 {
		t.Errorf("of %d blocks with a fault of YAML %d are sound now, want four in five", refused, sound)
	}
	t.Logf("of %d blocks %d had a fault of YAML; --fix mends %d", total, refused, sound)
}

func syntax(data []byte) bool {
	for _, p := range skill.Parse(data).Problems {
		if p.Rule == skill.RuleYAMLSyntax {
			return true
		}
	}
	return false
}
