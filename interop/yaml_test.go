package interop

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	realcorpus "github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// foreign is the result of yaml_blocks.mjs for one block.
type foreign struct {
	Whole  foreignFields // the block as the library reads it
	Fields foreignFields // each field read alone; a faulty field as text
}

type foreignFields struct {
	Refused           string
	Name, Description *foreignScalar
}

func (f foreignFields) field(key string) *foreignScalar {
	if key == "name" {
		return f.Name
	}
	return f.Description
}

// foreignScalar is a value. Kind is "text"; "indented" for a quoted text that becomes readable once
// its lines are indented; "raw" for the bare text of a field that cannot be read; "alias"; "null";
// or the name of a collection.
type foreignScalar struct {
	Kind, Text string
	Odd        bool // it has an anchor or a tag
}

func (s *foreignScalar) holds() bool {
	return s != nil && slices.Contains([]string{"text", "indented", "raw", "alias"}, s.Kind) && strings.TrimSpace(s.Text) != ""
}

// block is one frontmatter with the results of both readers.
type block struct {
	line  int // the line in the corpus, from 1
	text  string
	doc   *frontmatter.Document
	their foreign
}

// faulty reports whether knack could not read the block as written.
func (b *block) faulty() bool {
	return b.doc.Repaired || slices.ContainsFunc(b.doc.Problems, func(p skill.Problem) bool { return strings.HasPrefix(string(p.Rule), "yaml-") })
}

// says reports whether one of knack's problems about a field contains the given words.
func (b *block) says(words string) bool {
	return slices.ContainsFunc(b.doc.Problems, func(p skill.Problem) bool { return strings.Contains(p.Message, words) })
}

// agree reports whether both readers have the same value for a field. If both can read the block,
// the values must be equal. If a field is read as text, spaces and line ends do not count.
func (b *block) agree(key string) bool {
	ours, have := b.doc.Field(key)
	repaired := b.faulty() || b.their.Whole.Refused != ""
	theirs := b.their.Whole.field(key)
	if repaired {
		theirs = b.their.Fields.field(key)
	}
	switch {
	case !have || theirs == nil:
		return !have && theirs == nil
	case theirs.Odd:
		return false
	case theirs.Kind == "raw", theirs.Kind == "alias":
		return flat(ours.Value.Text) == flat(theirs.Text)
	case theirs.Kind == "null":
		return ours.Value.Kind == frontmatter.Null || ours.Value.Kind == frontmatter.String && ours.Value.Text == ""
	case theirs.Kind == "YAMLSeq":
		return ours.Value.Kind == frontmatter.List
	case theirs.Kind == "YAMLMap":
		return ours.Value.Kind == frontmatter.Map
	}
	return ours.Value.Text == theirs.Text
}

func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// difference is one way in which the two readers differ. count is the number of blocks in the
// corpus that have it, and holds reports whether a block has it.
type difference struct {
	what  string // the part of the comparison in which they differ
	why   string
	count int
	holds func(b *block) bool
}

var (
	reQuoted = regexp.MustCompile(`(?m)^[\w-]+:[ \t]*["'](.*[^"'\n])?\n+[^\s]`)
	reAlias  = regexp.MustCompile(`(?m)^description:[ \t]+\*`)
	reLoose  = regexp.MustCompile(`^[^\s"'#&*!|>%@,?:{}\[\]\x60-][^"'#]*?[ \t]*:([ \t]|$)`)
)

// differences explains every block that the two readers read differently.
var differences = []difference{
	{"only knack reads it", "a quoted text runs on in column 1, where the library wants it indented; that names of fields look different from text is enough to tell them apart", 36, func(b *block) bool {
		return b.their.Whole.Refused == "MISSING_CHAR" && reQuoted.MatchString(b.text)
	}},

	{"only the library reads it", "a value begins with *, which makes it an alias; the library looks for its anchor only when it is asked for the value, and knack reads the text", 12, func(b *block) bool {
		return reAlias.MatchString(b.text) && b.says("begins with *") && b.their.Whole.Description.Kind == "alias"
	}},
	{"only the library reads it", "half of a character is written as \\ud83c or \\ud83d, which no JSON can carry", 4, func(b *block) bool {
		return regexp.MustCompile(`\\ud83[cd]`).MatchString(b.text) && b.says("is not a complete character")
	}},
	{"only the library reads it", "a list stands as a key, which no JSON can carry", 1, func(b *block) bool {
		return strings.Contains(b.text, `,["`) && b.says("there is a list or mapping where a key is expected")
	}},
	{"only the library reads it", "it holds U+0080, which the specification of YAML 1.2 does not print (5.1)", 1, func(b *block) bool {
		return strings.Contains(b.text, "\u0080") && b.says("U+0080 is not allowed here")
	}},
	{"only the library reads it", "it holds NUL, which the specification of YAML 1.2 forbids (5.1)", 1, func(b *block) bool {
		return strings.Contains(b.text, "\x00") && b.says("NUL")
	}},

	{"another name", "it holds NUL, for which knack reads nothing at all", 1, func(b *block) bool {
		return strings.Contains(b.text, "\x00") && len(b.doc.Fields) == 0
	}},
	{"another description", "it holds NUL, for which knack reads nothing at all", 1, func(b *block) bool {
		return strings.Contains(b.text, "\x00") && len(b.doc.Fields) == 0
	}},
	{"another description", "it holds U+0080, which becomes a blank where the field is taken as text", 1, func(b *block) bool {
		f, _ := b.doc.Field("description")
		return flat(strings.ReplaceAll(b.their.Fields.Description.Text, "\u0080", " ")) == flat(f.Value.Text)
	}},
	{"another description", "the text runs on over lines of which some are comments, and these are none of it", 3, func(b *block) bool {
		return b.leaves(func(l string) bool { return strings.HasPrefix(strings.TrimLeft(l, " \t"), "#") }, nil)
	}},
	{"another description", "below it stands a line in column 1 that begins like a field of an unusual name, and is taken for one", 1, func(b *block) bool {
		return b.leaves(nil, reLoose.MatchString)
	}},
	{"another description", "below it stands the marker of a conflict, which is none of it", 1, func(b *block) bool {
		return b.leaves(func(l string) bool { return strings.HasPrefix(l, "<<<<<<< ") }, nil)
	}},
}

// leaves reports whether knack's description is the library's without some of its lines. out
// returns true for a line to leave out, and end for the first of the lines to leave out up to the
// end. At least one line must be left out.
func (b *block) leaves(out, end func(line string) bool) bool {
	f, _ := b.doc.Field("description")
	var lines []string
	left := false
	for i, l := range strings.Split(b.their.Fields.Description.Text, "\n") {
		if i > 0 && end != nil && end(l) {
			left = true
			break
		}
		if i > 0 && out != nil && out(l) {
			left = true
			continue
		}
		lines = append(lines, l)
	}
	return left && b.their.Fields.Description.Kind == "raw" && flat(strings.Join(lines, " ")) == flat(f.Value.Text)
}

// TestInteropYAML checks that knack reads real frontmatter as an independent library in another
// language does. If one of the two refuses a block, the test compares each field with a second
// implementation of the rule for faulty fields, in yaml_blocks.mjs. Every block that differs must
// have a reason in the table.
func TestInteropYAML(t *testing.T) {
	blocks := foreignBlocks(t)
	counts := make([]int, len(differences))
	differs := func(b *block, what string) {
		for i, d := range differences {
			if d.what == what && d.holds(b) {
				counts[i]++
				return
			}
		}
		ours, _ := b.doc.Field("description")
		t.Errorf("line %d of the corpus: %s: no reason in the table\n%q\nknack %q %v\nlibrary %+v", b.line, what, b.text, ours.Value.Text, b.doc.Problems, b.their)
	}
	var read, repaired, both, recovered int
	for _, b := range blocks {
		theirs := b.their.Whole.Refused == ""
		switch {
		case !theirs && !b.faulty():
			differs(b, "only knack reads it")
		case theirs && b.faulty():
			differs(b, "only the library reads it")
		case theirs:
			read++
		default:
			repaired++
		}
		name, description := b.agree("name"), b.agree("description")
		if !name {
			differs(b, "another name")
		}
		if !description {
			differs(b, "another description")
		}
		if b.their.Whole.Name.holds() && b.their.Whole.Description.holds() || b.their.Fields.Name.holds() && b.their.Fields.Description.holds() {
			both++
			if name && description {
				recovered++
			}
		}
	}
	t.Logf("%d blocks, %d read by both, %d refused by both; of %d with name and description %d have the same values here", len(blocks), read, repaired, both, recovered)
	if len(blocks) != 15_418 || read != 15_154 || repaired != 209 {
		t.Errorf("%d blocks, %d read by both, %d refused by both", len(blocks), read, repaired)
	}
	if both < 15_000 || recovered*1000 < both*990 {
		t.Errorf("%d of %d names with descriptions recovered, want 99 %%", recovered, both)
	}
	for i, d := range differences {
		if counts[i] != d.count {
			t.Errorf("%d blocks, not %d: %s, since %s", counts[i], d.count, d.what, d.why)
		}
	}
}

// foreignBlocks returns the frontmatter blocks of the corpus, each as knack and as the script
// yaml_blocks.mjs read it.
func foreignBlocks(t *testing.T) []*block {
	t.Helper()
	at := realcorpus.Find()
	file, err := os.Open(filepath.Join(at, "frontmatter.jsonl.gz"))
	if err != nil {
		missing(t, "no corpus; set KNACK_CORPUS to its folder: %v", err)
	}
	defer file.Close()
	bin := node(t, "client")
	if _, err := os.Stat("node_modules/yaml/package.json"); err != nil {
		missing(t, "no yaml; run npm ci --prefix interop: %v", err)
	}
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []*block
	var in bytes.Buffer
	out := json.NewEncoder(&in)
	for lines := json.NewDecoder(z); lines.More(); {
		var r struct{ Frontmatter string }
		if err := lines.Decode(&r); err != nil {
			t.Fatal(err)
		}
		text := strings.TrimSuffix(r.Frontmatter, "\n") + "\n"
		b := &block{line: len(blocks) + 1, text: text, doc: frontmatter.Parse([]byte("---\n" + text + "---\n# Body\n"))}
		blocks = append(blocks, b)
		if err := out.Encode(b.text); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), bin, script(t, "yaml_blocks.mjs"))
	cmd.Stdin = &in
	var said, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &failed
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, failed.Bytes())
	}
	answers := bufio.NewScanner(&said)
	answers.Buffer(nil, 4<<20)
	n := 0
	for ; answers.Scan(); n++ {
		if n < len(blocks) {
			if err := json.Unmarshal(answers.Bytes(), &blocks[n].their); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := answers.Err(); err != nil || n != len(blocks) {
		t.Fatalf("%d answers to %d blocks: %v", n, len(blocks), err)
	}
	return blocks
}
