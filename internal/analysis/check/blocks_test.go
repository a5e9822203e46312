package check

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path"
	"testing"

	"github.com/knack-dev/knack/internal/test/alloctest"
	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// TestFixBlocks runs Fix on 15,418 real blocks of frontmatter. It must lose nothing in any block,
// and must repair most of the blocks that are not valid YAML.
func TestFixBlocks(t *testing.T) {
	testwait.Slow(t)
	if testing.Short() {
		t.Skip("long")
	}
	if alloctest.Raced {
		t.Skip("one goroutine races with nobody, and takes minutes")
	}
	f, err := os.Open(corpus.Dir(t, "frontmatter.jsonl.gz"))
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
	var total, refused int
	sound := map[Level]int{}
	for lines.Scan() {
		var r struct{ Dir, Frontmatter string }
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		total++
		data := []byte("---\n" + r.Frontmatter + "---\n# Body\n")
		folder := path.Base(r.Dir)
		if syntax(data) {
			refused++
		}
		for _, level := range []Level{Certain, Guess} {
			got, _ := Fix(data, folder, level)
			checkFixed(t, r.Dir, data, got, folder, level)
			if syntax(data) && !syntax(got) {
				sound[level]++
			}
		}
	}
	if total != 15418 {
		t.Errorf("%d blocks, want 15,418", total)
	}
	if sound[Certain]*10 < refused*7 || sound[Guess]*10 < refused*8 {
		t.Errorf("of %d blocks with a fault of YAML %d are sound by --fix, want seven in ten, and %d by --fix=guess, want eight", refused, sound[Certain], sound[Guess])
	}
	t.Logf("of %d blocks %d had a fault of YAML; --fix fixes %d, --fix=guess %d", total, refused, sound[Certain], sound[Guess])
}

func syntax(data []byte) bool {
	for _, p := range frontmatter.Parse(data).Problems {
		if p.Rule == frontmatter.YAMLSyntax {
			return true
		}
	}
	return false
}
