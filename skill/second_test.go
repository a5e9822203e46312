package skill

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	yaml3 "gopkg.in/yaml.v3"
)

// second reads name and description with another parser. ok is false where it
// refuses the block or where they are no scalars.
func second(block string) (name, description string, ok bool) {
	defer func() {
		if recover() != nil { // v3 panics on some malformed input
			ok = false
		}
	}()
	var doc, more yaml3.Node
	dec := yaml3.NewDecoder(strings.NewReader(block))
	if dec.Decode(&doc) != nil || !errors.Is(dec.Decode(&more), io.EOF) {
		return "", "", false
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml3.MappingNode {
		return "", "", false
	}
	seen := map[string]bool{}
	for m, i := doc.Content[0], 0; i+1 < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		if k.Kind != yaml3.ScalarNode || seen[k.Value] {
			return "", "", false
		}
		seen[k.Value] = true
		if k.Value != "name" && k.Value != "description" {
			continue
		}
		if v.Kind != yaml3.ScalarNode || v.Anchor != "" || v.Style&yaml3.TaggedStyle != 0 {
			return "", "", false
		}
		if k.Value == "name" {
			name = v.Value
		} else {
			description = v.Value
		}
	}
	return name, description, true
}

// Two parsers that nobody here wrote together: whatever the second one reads in
// 15,000 real blocks, ours reads the same, and what it refuses is recovered.
func TestSecondParser(t *testing.T) {
	f, err := os.Open(filepath.Join(corpusDir(t), "frontmatter.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	hasBoth := regexp.MustCompile(`(?s)^(.*\n)?name:[ \t]*\S.*`)
	hasDescription := regexp.MustCompile(`(?m)^description:`)
	var total, valid, differ, refused, both, recovered int
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct{ Dir, Frontmatter string }
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		total++
		file := fenced(r.Frontmatter)
		d := Parse(file)
		checkDocument(t, file, d)
		name, _ := d.Field("name")
		description, _ := d.Field("description")
		if hasBoth.MatchString(r.Frontmatter) && hasDescription.MatchString(r.Frontmatter) {
			both++
			if name.Value.Text != "" && plainText(description.Value) != "" {
				recovered++
			}
		}
		n, desc, ok := second(r.Frontmatter)
		switch {
		case !ok:
			refused++
			if !d.Repaired && len(d.Problems) == 0 && name.Value.Kind == String && description.Value.Kind == String {
				differ++
				t.Logf("%s: read only here", r.Dir)
			}
		case d.Repaired:
			differ++
			t.Logf("%s: repaired only here: %q", r.Dir, said(d.Problems))
		default:
			valid++
			if n != name.Value.Text || desc != description.Value.Text && description.Value.Kind != List && description.Value.Kind != Map {
				differ++
				t.Logf("%s: %q and %q, the second parser says %q and %q", r.Dir, name.Value.Text, description.Value.Text, n, desc)
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d blocks, %d read by both, %d refused by the second, %d differ; %d of %d recovered", total, valid, refused, differ, recovered, both)
	if total < 15_000 || valid < 12_000 {
		t.Errorf("only %d blocks, %d read by both", total, valid)
	}
	if differ > maxDiffer {
		t.Errorf("%d blocks differ, at most %d are known", differ, maxDiffer)
	}
	if recovered*1000 < both*990 {
		t.Errorf("%d of %d names with descriptions recovered, want 99 %%", recovered, both)
	}
}

// maxDiffer is how many blocks of the corpus the two parsers read differently:
// one has a mapping as a key, which JSON cannot carry.
const maxDiffer = 1
