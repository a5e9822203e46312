package check

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/knack-dev/knack/internal/test/alloctest"
	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

const sound = "---\nname: git\ndescription: Use when committing.\n---\n# Git\n"

// fixes lists faults, each with its level and the result of Fix.
var fixes = []struct {
	name          string
	rule          skill.RuleID
	level         Level
	broken, fixed string
}{
	{"colon", frontmatter.YAMLSyntax, Certain, "---\nname: git\ndescription: Git: it's all\n---\nbody\n", "---\nname: git\ndescription: 'Git: it''s all'\n---\nbody\n"},
	{"star", frontmatter.YAMLSyntax, Certain, "---\nname: git\ndescription: d\nallowed-tools: *\n---\n", "---\nname: git\ndescription: d\nallowed-tools: '*'\n---\n"},
	{"at", frontmatter.YAMLSyntax, Certain, "---\nname: git\ndescription: @all of it\n---\n", "---\nname: git\ndescription: '@all of it'\n---\n"},
	{"inner quotes", frontmatter.YAMLSyntax, Certain, "---\nname: git\ndescription: \"a\" and b\n---\n", "---\nname: git\ndescription: '\"a\" and b'\n---\n"},
	{"flow with text", frontmatter.YAMLSyntax, Certain, "---\nname: git\ndescription: d\nargument-hint: [a] [b]\n---\n", "---\nname: git\ndescription: d\nargument-hint: '[a] [b]'\n---\n"},
	{"nested colon", frontmatter.YAMLSyntax, Certain, "---\nname: git\ndescription: d\nmetadata:\n  a: x: y\n  b: z\n---\n", "---\nname: git\ndescription: d\nmetadata:\n  a: 'x: y'\n  b: z\n---\n"},
	{"text behind >", frontmatter.YAMLSyntax, Certain, "---\nname: git\ndescription: > Use when needed.\nlicense: MIT\n---\n", "---\nname: git\ndescription: >\n  Use when needed.\nlicense: MIT\n---\n"},
	{"text behind |", frontmatter.YAMLSyntax, Certain, "---\nname: git\ndescription: | Use when\n    needed.\n---\n", "---\nname: git\ndescription: |\n    Use when\n    needed.\n---\n"},
	{"colon over lines", frontmatter.YAMLSyntax, Certain, "---\nname: git\ndescription: a: b\n  and more\n---\n", "---\nname: git\ndescription: 'a: b and more'\n---\n"},
	{"glued field below", frontmatter.YAMLSyntax, Certain, "---\nname: git\ndescription: Reads: files\n  and more\nlicense:MIT\n---\n", "---\nname: git\ndescription: 'Reads: files and more'\nlicense: MIT\n---\n"},
	{"quoted field below", frontmatter.YAMLSyntax, Certain, "---\nname: git\ndescription: Reads: files\n  and more\n'argument-hint': [a] [b]\n---\n", "---\nname: git\ndescription: 'Reads: files and more'\n'argument-hint': '[a] [b]'\n---\n"},
	{"colon in the key", frontmatter.YAMLSyntax, Certain, "---\nname: git\ndescription: Use when.\nnpm:install: do: it\n---\n", "---\nname: git\ndescription: Use when.\nnpm:install: 'do: it'\n---\n"},
	{"two blanks", frontmatter.YAMLSyntax, Certain, "---\nname: git\ndescription: \"a,\"  and b\n---\n", "---\nname: git\ndescription: '\"a,\" and b'\n---\n"},
	{"colon and comment", frontmatter.YAMLSyntax, Guess, "---\nname: git\ndescription: Do it: now # or later\n---\n", "---\nname: git\ndescription: 'Do it: now # or later'\n---\n"},
	{"no-break space", frontmatter.YAMLSyntax, Certain, "---\nname: git\ndescription:\u00a0Use it\n---\n", "---\nname: git\ndescription: Use it\n---\n"},
	{"continuation", frontmatter.YAMLSyntax, Guess, "---\nname: git\ndescription: one\ntwo three\n---\n", "---\nname: git\ndescription: 'one two three'\n---\n"},
	{"glued key", frontmatter.YAMLSyntax, Certain, "---\nname: git\ndescription:Use it\n---\n", "---\nname: git\ndescription: Use it\n---\n"},
	{"twin", frontmatter.YAMLDuplicate, Certain, "---\nname: git\nname: git\ndescription: d\n---\n", "---\nname: git\ndescription: d\n---\n"},
	{"blanks", frontmatter.FenceBlanks, Certain, "---  \r\nname: git\r\ndescription: d\r\n---\r\nbody\r\n", "---\r\nname: git\r\ndescription: d\r\n---\r\nbody\r\n"},
	{"glued fence", frontmatter.FenceGlued, Certain, "---\nname: git\ndescription: d\n---# Title\n", "---\nname: git\ndescription: d\n---\n# Title\n"},
	{"late fence", frontmatter.FenceLate, Certain, "\ufeff\n \n---\nname: git\ndescription: d\n---\n", "\ufeff---\nname: git\ndescription: d\n---\n"},
	{"unclosed", frontmatter.FenceUnclosed, Certain, "---\r\nname: git\r\ndescription: d\r\n\r\n# Title\r\n", "---\r\nname: git\r\ndescription: d\r\n---\r\n\r\n# Title\r\n"},
	{"unclosed, value over lines", frontmatter.FenceUnclosed, Guess, "---\nname: git\ndescription: d\n  more\n\n# Title\n", "---\nname: git\ndescription: d\n  more\n---\n\n# Title\n"},
	{"unclosed, block", frontmatter.FenceUnclosed, Certain, "---\nname: git\ndescription: >\n  d\n# Title\n", "---\nname: git\ndescription: >\n  d\n---\n# Title\n"},
	{"unclosed, other field", frontmatter.FenceUnclosed, Guess, "---\nname: git\ndescription: d\nNote: read this\n\n# Title\n", "---\nname: git\ndescription: d\nNote: read this\n---\n\n# Title\n"},
	{"unclosed, colon", frontmatter.FenceUnclosed, Guess, "---\nname: git\ndescription: a: b\n\n# Title\n", "---\nname: git\ndescription: 'a: b'\n---\n\n# Title\n"},
	{"unclosed to the end", frontmatter.FenceUnclosed, Certain, "---\nname: git\ndescription: d", "---\nname: git\ndescription: d\n---"},
	{"no opener", frontmatter.FenceOpener, Certain, "name: git\ndescription: d\n---\nbody\n", "---\nname: git\ndescription: d\n---\nbody\n"},
	{"neither", frontmatter.FenceOpener, Certain, "name: git\ndescription: d\n\n# Title\n", "---\nname: git\ndescription: d\n---\n\n# Title\n"},
	{"neither, rule below", frontmatter.FenceOpener, Certain, "name: git\ndescription: d\n\nText\n\n---\nMore\n", "---\nname: git\ndescription: d\n---\n\nText\n\n---\nMore\n"},
	{"number", frontmatter.DescriptionType, Certain, "---\nname: git\ndescription: 42\n---\n", "---\nname: git\ndescription: '42'\n---\n"},
	{"name is a number", frontmatter.NameType, Certain, "---\nname: 8004\ndescription: d\n---\n", "---\nname: '8004'\ndescription: d\n---\n"},
	{"tools with commas", ruleAllowedTools, Certain, "---\nname: git\nallowed-tools: Read, Bash(git:*)\ndescription: d\n---\n", "---\nname: git\nallowed-tools: Read Bash(git:*)\ndescription: d\n---\n"},
	{"list of tools", ruleAllowedTools, Certain, "---\nname: git\ndescription: d\nallowed-tools:\n  - Read\n  - Write\n---\n", "---\nname: git\ndescription: d\nallowed-tools: Read Write\n---\n"},
	{"a slip in a key", frontmatter.NameMissing, Guess, "---\nnmae: git\ndescription: d\n---\n", "---\nname: git\ndescription: d\n---\n"},
	{"a slip in another", frontmatter.DescriptionMissing, Guess, "---\nname: git\ndescripton: |\n  d\n---\n", "---\nname: git\ndescription: |\n  d\n---\n"},
	{"a space that is none", frontmatter.NameMissing, Certain, "---\n\u00a0name: git\ndescription: d\n---\n", "---\nname: git\ndescription: d\n---\n"},
	{"what cannot be seen", frontmatter.DescriptionMissing, Certain, "---\nname: git\ndes\u200bcription: d\n---\n", "---\nname: git\ndescription: d\n---\n"},
	{"a letter of another script", frontmatter.NameMissing, Certain, "---\nn\u0430me: git\ndescription: d\n---\n", "---\nname: git\ndescription: d\n---\n"},
	{"no name", frontmatter.NameMissing, Guess, "---\ndescription: d\n---\n", "---\nname: git\ndescription: d\n---\n"},
}

func TestFix(t *testing.T) {
	for _, c := range fixes {
		t.Run(c.name, func(t *testing.T) {
			got, fixed := Fix([]byte(c.broken), "git", c.level)
			if string(got) != c.fixed {
				t.Errorf("got\n%s\nwant\n%s", got, c.fixed)
			}
			if len(fixed) == 0 || fixed[0].Rule != c.rule || fixed[0].What == "" {
				t.Errorf("the fixes are %+v, want one by %s", fixed, c.rule)
			}
			if again, _ := Fix(got, "git", c.level); !bytes.Equal(again, got) {
				t.Errorf("a second time:\n%s", again)
			}
			if less, _ := Fix([]byte(c.broken), "git", c.level-1); string(less) != c.broken {
				t.Errorf("one level lower it is fixed too:\n%s", less)
			}
			marked := found(checked(t, c.broken), c.rule)
			if len(marked) == 0 || marked[0].Fixable != c.level {
				t.Errorf("the finding does not say that it can be fixed: %+v", marked)
			}
			if left := found(checked(t, c.fixed), c.rule); len(left) > 0 {
				t.Errorf("still there: %+v", left)
			}
		})
	}
}

// TestFixIsWhatFixWrites checks that the printed suggestions match the fix. They contain every line
// that Fix writes, and every line in them is in the fixed file.
func TestFixIsWhatFixWrites(t *testing.T) {
	for _, c := range fixes {
		all := checked(t, c.broken).Findings
		f := found(Report{Findings: all}, c.rule)[0]
		asked := ""
		for _, f := range all {
			asked += f.Fix + "\n"
		}
		text := strings.ReplaceAll(c.fixed, "\r\n", "\n")
		before := strings.Split(strings.ReplaceAll(c.broken, "\r\n", "\n"), "\n")
		for l := range strings.SplitSeq(text, "\n") {
			if !slices.Contains(before, l) && !strings.Contains(asked, strings.TrimLeft(l, " ")) {
				t.Errorf("%s: --fix writes %q, and the fixes are %q", c.name, l, asked)
			}
		}
		ask, lines, many := strings.Cut(f.Fix, ":\n")
		if !many {
			ask, lines, _ = strings.Cut(f.Fix, ": ")
		}
		for l := range strings.Lines(lines) {
			if l = strings.TrimRight(l, "\n"); ask == "" || !strings.Contains("\n"+text+"\n", l+"\n") {
				t.Errorf("%s: the fix is %q, and no line of the file is %q:\n%s", c.name, f.Fix, l, text)
			}
		}
		if strings.Contains(f.Fix, "…") {
			t.Errorf("%s: the fix leaves something out: %q", c.name, f.Fix)
		}
	}
}

// TestFixLeaves checks that Fix leaves a file unchanged if it has no fix for it.
func TestFixLeaves(t *testing.T) {
	for name, text := range map[string]string{
		"sound":             sound,
		"name is a list":    "---\nname: [a]\ndescription: d\n---\n",
		"name has a fault":  "---\nname: *a\ndescription: d\n---\n",
		"two descriptions":  "---\nname: git\ndescription: a\ndescription: b\n---\n",
		"tools with blanks": "---\nname: git\ndescription: d\nallowed-tools: Bash(git add:*), Read\n---\n",
		"tools and comment": "---\nname: git\ndescription: d\nallowed-tools: # these\n  - Read\n---\n",
		"fields go on":      "---\nname: git\n\ndescription: d\n\n# Title\n",
		"no frontmatter":    "# Title\n",
		"comment first":     "<!-- c -->\n---\nname: git\ndescription: d\n---\n",
		"conflict":          "---\nname: git\n<<<<<<< a\ndescription: d\n=======\ndescription: e\n>>>>>>> b\n---\n",
		"nested structure":  "---\nname: git\ndescription: d\nmetadata:\n  a: [x\n  b: z\n---\n",
		"two lists":         "---\nname: git\ndescription: d\nrequires: [a] [b]\n---\n",
		"JSON with a fault": "---\nname: git\ndescription: d\nmetadata: {\"a\": \\[1}\n---\n",
		"JSON over lines":   "---\nname: git\ndescription: d\nmetadata: {\n\"a\": \"b\",\n\"c\": {\n}\n}\n---\n",
		// It is unclear where the body begins.
		"unclosed, text":      "---\nname: git\ndescription: d.\nFirst line.\nSecond line.\n",
		"unclosed, paragraph": "---\nname: git\ndescription: d.\nFirst line.\n\n# Title\n",
		"closed by ...":       "---\nname: git\ndescription: d.\n...\nText\n\n# Title\n",
		"closed by dots":      "---\nname: git\ndescription: d.\n...\n\n# Title\n",
		"closed by -----":     "---\nname: git\ndescription: d.\n-----\n\n# Title\n",
		"closed by --":        "---\nname: git\ndescription: d.\n--\n\nText\n",
		"closed by ***":       "---\nname: git\ndescription: d.\n***\nText\n",
		"closed by a dash":    "---\nname: git\ndescription: d.\n———\nText\n",
		"closed, indented":    "---\nname: git\ndescription: d.\n  ---\n\nText\n",
		"in a code fence":     "```yaml\nname: git\ndescription: use when\n```\n\n# Title\n",
		"neither, text":       "name: git\ndescription: use when\nText\n\n# Title\n",
		"no opener, text":     "name: git\ndescription: use when\nText\n---\nMore\n",
		"quote goes on":       "---\nname: git\ndescription: \"a\n\nb\"\n# Title\n",
		"block goes on":       "---\nname: git\ndescription: >\n  a\n\n  b\n\n# Title\n",
		"field without colon": "---\nname: git\ndescription: d\nlicense MIT\n---\n",
		"body in the block":   "---\nname: git\ndescription: d\n**Steps**\n1. do\n2. go\n---\n",
		"braces below":        "---\nname: git\ndescription: d\n{{ name }}: x\n---\n",
		"directive below":     "---\nname: git\ndescription: d\n%TAG x\n---\n",
		// Other programs accept these.
		"anchor and alias":  "---\nname: git\ndescription: d\nx: &a 1\ny: *a\n---\n",
		"tag":               "---\nname: git\ndescription: !!str Use when\n---\n",
		"never closed":      "---\nname: git\ndescription: d\nx: \"a\n---\n",
		"control character": "---\nname: git\ndescription: a\u0085b: c\n---\n",
		"metadata as text":  "---\nname: git\ndescription: d\nmetadata: a: b\n---\n",
		"key in capitals":   "---\nName: git\ndescription: d\n---\n",
		"not UTF-8":         "---\nname: git\ndescription: a: b\xff\n---\n",
	} {
		if got, fixed := Fix([]byte(text), "git", Guess); string(got) != text {
			t.Errorf("%s: %+v\n%s", name, fixed, got)
		}
	}
}

// TestFixEdge checks Fix on every real edge case: a second Fix changes nothing, readable fields
// keep their values, and the body keeps its bytes.
func TestFixEdge(t *testing.T) { fixAll(t, corpus.Dir(t, "edge"), 168) }

// TestFixCorpus checks the same on the real skills, which must also read the same after Fix.
func TestFixCorpus(t *testing.T) {
	if alloctest.Raced {
		t.Skip("one goroutine races with nobody, and takes minutes")
	}
	fixAll(t, corpus.Dir(t, "skills"), 776)
}

func fixAll(t *testing.T, dir string, want int) {
	all := bundles(t, dir)
	if len(all) != want {
		t.Errorf("%d skills, want %d", len(all), want)
	}
	fixed := 0
	for _, b := range all {
		r := load(t.Context(), b)
		for _, level := range []Level{Certain, Guess} {
			got, changes := Fix(r.Data, b.Folder(), level)
			if len(changes) > 0 && level == Certain {
				fixed++
				t.Logf("%s: %+v", b.Path, changes)
			}
			checkFixed(t, b.Path, r.Data, got, b.Folder(), level)
		}
	}
	t.Logf("%d of %d were fixed", fixed, len(all))
}

var aWord = regexp.MustCompile(`[\pL\pN]+`)

// checkFixed reports the faults of a fixed file. It uses only package skill.
func checkFixed(t *testing.T, name string, data, got []byte, folder string, level Level) {
	t.Helper()
	if bytes.Equal(got, data) {
		return // nothing was fixed and nothing was lost
	}
	if again, changes := Fix(got, folder, level); !bytes.Equal(again, got) {
		t.Errorf("%s: fixed again: %+v", name, changes)
	}
	was, fixed := frontmatter.Parse(data), frontmatter.Parse(got)
	for _, field := range []string{"name", "description"} {
		// Rename a misspelt key in the original, as Fix does, so that only other changes count.
		_, before := was.Field(field)
		named, after := fixed.Field(field)
		f, _, ok := was.Meant(field)
		_, remains := fixed.Field(f.Key)
		another := remains && ok && named.Value.Text != f.Value.Text // there were two such keys
		if ok && !another && !before && after {
			at := 0
			if where := regexp.MustCompile(`[\n\r][ \t]*(` + regexp.QuoteMeta(f.Key) + `)[ \t]*:(?:\s|$)`).FindSubmatchIndex(data); where != nil { // a line may end in a bare CR
				at = where[2]
			}
			data = slices.Concat(data[:at], []byte(field), data[at+len(f.Key):])
			was = frontmatter.Parse(data)
		}
	}
	if body := data[was.Body:]; !bytes.HasSuffix(got, body) || len(body) > 0 && !bytes.Equal(got[fixed.Body:], body) {
		t.Errorf("%s: the body changed", name)
	}
	if !bytes.HasSuffix(data, got[fixed.Body:]) {
		t.Errorf("%s: there is a body that was not there", name)
	}
	// Fix may remove invisible characters from a key and replace look-alike letters.
	words := func(s []byte) string {
		seen := strings.Map(func(r rune) rune {
			if r > unicode.MaxASCII && (unicode.Is(unicode.Cf, r) || unicode.IsSpace(r)) {
				return -1
			}
			return r
		}, string(s))
		all := aWord.FindAllString(seen, -1)
		for i, w := range all {
			for _, field := range []string{"name", "description"} {
				key := frontmatter.Document{Fields: []frontmatter.Field{{Key: w}}}
				if _, certain, _ := key.Meant(field); certain {
					all[i] = field
				}
			}
		}
		return strings.Join(all, " ")
	}
	twins := slices.ContainsFunc(was.Problems, func(p skill.Problem) bool { return p.Rule == frontmatter.YAMLDuplicate })
	// If the closing fence was missing, Fix can see duplicate fields only after it has added the
	// fence. It then removes one of two equal lines, and so does the function once.
	distinct := func(s []byte) []byte {
		var lines [][]byte
		for _, line := range bytes.Split(s, []byte("\n")) {
			if !slices.ContainsFunc(lines, func(k []byte) bool { return bytes.Equal(k, line) }) {
				lines = append(lines, line)
			}
		}
		return bytes.Join(lines, []byte("\n"))
	}
	unclosed := slices.ContainsFunc(was.Problems, func(p skill.Problem) bool { return p.Rule == frontmatter.FenceUnclosed })
	if a, b := words(data), words(got); !twins && level == Certain && a != b && !(unclosed && words(distinct(data)) == words(distinct(got))) {
		t.Errorf("%s: the words were\n%s\nand are\n%s", name, a, b)
	}
	broken := map[string]bool{"allowed-tools": true}
	for _, p := range was.Problems {
		if p.Rule == frontmatter.YAMLSyntax || p.Rule == frontmatter.NameSyntax {
			broken[p.Field] = true
		}
	}
	for _, f := range was.Fields {
		now, ok := fixed.Field(f.Key)
		// A name that looks like a number stays as it was written: 04, not 4.
		quoted := (f.Key == "name" || f.Key == "description") && now.Value.Kind == frontmatter.String && now.Value.Text == f.Value.Text
		if a, b := string(f.Value.AppendJSON(nil)), string(now.Value.AppendJSON(nil)); !ok || a != b && !quoted && !broken[f.Key] {
			t.Errorf("%s: %s was %s and is %s", name, f.Key, a, b)
		}
	}
	if bytes.Contains(data, []byte("\r\n")) && !bytes.Contains(bytes.ReplaceAll(data, []byte("\r\n"), nil), []byte("\n")) &&
		bytes.Contains(bytes.ReplaceAll(got, []byte("\r\n"), nil), []byte("\n")) {
		t.Errorf("%s: the line ends changed", name)
	}
}

func FuzzFix(f *testing.F) {
	for _, c := range fixes {
		f.Add([]byte(c.broken), "git", true)
	}
	f.Add([]byte("---\r\nname: a\rdescription: b: c\r\n---x"), "a", true)
	f.Add([]byte("---\nname: git\n\nna:\x18gion: Git: it's all\n---\nbody\n"), "git", false)
	f.Fuzz(func(t *testing.T, data []byte, folder string, guess bool) {
		level := Certain
		if guess {
			level = Guess
		}
		got, _ := Fix(data, folder, level)
		checkFixed(t, filepath.Join("fuzz", folder), data, got, folder, level)
	})
}

// TestDiffering checks that differing leaves out only whole lines, so that no character is split.
func TestDiffering(t *testing.T) {
	for _, c := range []struct{ a, b, restA, restB string }{
		{"", "", "", ""},
		{"x", "y", "x", "y"},
		{"name: é", "name: è", "name: é", "name: è"},
		{"a\nb\nc\n", "a\nB\nc\n", "b\n", "B\n"},
		{"a\nb\nc", "a\nc", "b\nc", "c"},
		{"a\na\n", "a\n", "a\n", ""},
		{"a\n", "a\n", "", ""},
		{"k: xé\nbody\n", "k: yé\nbody\n", "k: xé\n", "k: yé\n"},
	} {
		if a, b := differing(c.a, c.b); a != c.restA || b != c.restB {
			t.Errorf("%q and %q: %q and %q", c.a, c.b, a, b)
		}
	}
}
