package frontmatter

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// agreePlain compares readPlain with the library on one block, and reports whether readPlain
// accepted the block.
func agreePlain(t testing.TB, block string) bool {
	t.Helper()
	if unsafeCharacter(block) != nil {
		return false
	}
	got, ok := readPlain(block, nil)
	if !ok {
		return false
	}
	want, notes, fault := parseYAML(block)
	if fault != nil || len(notes) > 0 {
		t.Errorf("%q: read, and the library says %v %v", block, fault, notes)
		return true
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%q (-library +plain):\n%s", block, d)
	}
	return true
}

// realBlocks calls f with every frontmatter of the corpus.
func realBlocks(t testing.TB, f func(block string)) {
	t.Helper()
	file, err := os.Open(filepath.Join(corpus.Dir(t), "frontmatter.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct{ Frontmatter string }
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		f(r.Frontmatter)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// TestPlainReader checks that the plain reader and the library give the same kinds, texts and
// positions. It reads every real file and 1,500 real blocks, or 15,000 in the second lane. The
// plain reader accepts most of them.
func TestPlainReader(t *testing.T) {
	every := 10
	if testwait.SecondLane() {
		every = 1
	}
	total, tried, read := 0, 0, 0
	realBlocks(t, func(block string) {
		if total++; total%every != 0 {
			return
		}
		tried++
		file := fenced(block)
		checkDocument(t, file, Parse(file))
		if agreePlain(t, block) {
			read++
		}
	})
	t.Logf("%d of %d blocks", read, tried)
	if total < 15_000 || read*100 < tried*80 {
		t.Errorf("%d of %d blocks are read plainly, want 80 %%", read, tried)
	}
	files := 0
	for _, dir := range []string{"skills", "edge"} {
		err := filepath.WalkDir(filepath.Join(corpus.Dir(t), dir), func(p string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || !e.Type().IsRegular() || filepath.Ext(p) != ".md" && filepath.Ext(p) != ".MD" {
				return err
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			if _, rest, ok := bytes.Cut(data, []byte("---\n")); ok {
				block, _, _ := bytes.Cut(rest, []byte("\n---"))
				files++
				agreePlain(t, string(block)+"\n")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 900 {
		t.Errorf("only %d files", files)
	}
}

// plainSeeds has blocks that look plain and are not, and blocks that are plain and do not look it.
var plainSeeds = []string{
	"name: a\ndescription: b\n", "a:\nb: 1\n", "a:   \n\n\nb:\n", "a:\n- x\n- y\nb: 2\n", "a:\n  - x\n  - 'y'\n  -\n", "a:\n  b:\n    c: d\n  e: f\n",
	"a: |\n  x\n   y\n\n  z\nb: >-\n  p\n  q\n\n  r\n", "a: >\n  x  \n  y\n", "a: |\n  x\n    \n  y\n", "a: x\n  y\n\n  z\n", "a: \"x\n  y\n\n  z \\\" w\"\n", "a: 'x''y'\n",
	"a: 'it''s\n  so'\n", "a: [x, 'y', \"z\", 1, true]\n", "a: []\n", "a: [x,]\n", "a: {b: c}\n", "a: x # c\n", "a: x: y\n", "a: x:\n", "a: #x\n", "a: x#y\n", "a: -1\n", "a: - x\n", "a: -x\n",
	"a: 1.10\nb: 012\nc: .inf\nd: 1e999\ne: ~\n", "a: 1\na: 2\n", "true: 1\n", "1: x\n", "<<: x\n", "__proto__: x\n", "a: *b\n", "a: &b c\n", "a: !t c\n", "a : b\n", "\"a\": b\n", "a:b\n", "é: ü\n", "a: é\nb: [é, x]\n",
	"- a\n", "a\n", "...\n", "a: b\n...\n", "%YAML 1.2\n", "# c\na: b\n", "a: b\n# c\n", "  a: b\n", "a:\n b: c\n  d: e\n", "a: b\n c: d\n", "a: \"b\" c\n", "a: \"b\n", "a: 'b\n", "a: @b\n", "a: `b`\n", "a: ?b\n", "a: :b\n", "a: ,b\n",
	"a: |2\n  x\n", "a: |+\n  x\n\n", "a: |\n\n  x\n", "a: |\nb: c\n", "a: >\n  x\n    y\n", "a:\n  x\n", "a:\n  \"x\": y\n", "a.b: c\n-a: b\n", "a: --- b\n", "a: b\n\n\n", "a:\n- - b\n", "a:\n- b: c\n", "a:\n- b\n  c\n", "a:\n  - b\n c: d\n",
	"a: 'b'\n  c: d\n", "a: [b]\n  c\n", "a: [b: c]\n", "a: [\"b\"c]\n", "a: [b c, d-e, f.g]\n", "a: \"\\x41\"\n", "a: \"b\\\n  c\"\n", "a: \"x \n  y\"\n", "a: \"x\\n\n  y\"\n",
}

func TestPlainSeeds(t *testing.T) {
	read := 0
	for _, block := range plainSeeds {
		if agreePlain(t, block) {
			read++
		}
	}
	if read < 20 {
		t.Errorf("only %d of %d are read plainly", read, len(plainSeeds))
	}
}

func FuzzPlainReader(f *testing.F) {
	for _, block := range plainSeeds {
		f.Add(block)
	}
	f.Fuzz(func(t *testing.T, block string) {
		if utf8.ValidString(block) && len(block) <= MaxSize {
			agreePlain(t, block)
		}
	})
}

func BenchmarkReadBlock(b *testing.B) {
	var blocks []string
	realBlocks(b, func(block string) { blocks = append(blocks, block) })
	for _, by := range []struct {
		name string
		read func(string)
	}{
		{"plain", func(s string) { readPlain(s, nil) }},
		{"library", func(s string) { _, _, _ = parseYAML(s) }},
		{"as-served", func(s string) { (&Document{}).readBlock(s, 2, nil, false) }},
	} {
		b.Run(by.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				by.read(blocks[i%len(blocks)])
			}
		})
	}
}
