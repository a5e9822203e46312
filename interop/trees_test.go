package interop

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	realcorpus "github.com/knack-dev/knack/internal/test/corpus"
)

// trees returns the trees that the clients read: the fixtures, and the others if the suite runs
// whole. Only the others have several pages. The corpus is not available on every machine.
func trees(t *testing.T) []*tree {
	t.Helper()
	out := []*tree{fixtures(t)}
	if !complete() {
		matrix.skipped()
		return out
	}
	out = append(out, generated(t))
	if c := corpus(); c != nil {
		return append(out, c)
	}
	matrix.skipped()
	if os.Getenv("CI") != "" {
		t.Error("no corpus, and this is continuous integration; set KNACK_CORPUS to its folder")
	}
	return out
}

// keep is the folder into which the fixtures and the generated skills are written, so that they
// remain there and a row of results.txt can be repeated by hand.
var keep = flag.String("trees", "", "write the folders fixtures and generated into `DIR`, and leave them there")

func treesDir() string {
	if *keep != "" {
		return *keep
	}
	return work
}

func TestInteropTrees(t *testing.T) {
	if *keep == "" && testing.Short() {
		t.Skip("hundreds of skills are for longer runs")
	}
	for _, tree := range []*tree{fixtures(t), generated(t)} {
		found := 0
		err := filepath.WalkDir(tree.dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && strings.EqualFold(d.Name(), "SKILL.md") {
				found++
			}
			return err
		})
		if err != nil || found < tree.skills {
			t.Errorf("%s: %d skills, want %d at least: %v", tree.dir, found, tree.skills, err)
		}
	}
}

// corpus returns the folder of real skills, or nil without one. Of its 776 skills, 772 are
// published. Two have a description that is too long, and two have metadata with values other than
// strings.
var corpus = sync.OnceValue(func() *tree {
	dir := realcorpus.Find()
	if dir == "" {
		return nil
	}
	dir = filepath.Join(dir, "skills")
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	return &tree{name: "corpus", dir: dir, skills: 772, files: 3857}
})

func put(dir string, files map[string]string) error {
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// typesMD has a value of every kind about which YAML parsers disagree.
const typesMD = `---
name: types
description: >-
  Folded over
  two lines: with a colon, "quotes" and an ümlaut.
license: Apache-2.0
compatibility: Needs nothing.
allowed-tools: [Read, "Bash(git:*)"]
metadata: {version: "1.10", author: 'somebody'}
date: 2026-01-02
time: 2026-01-02T03:04:05Z
octal: 012
hex: 0x1F
binary: 0b11
grouped: 1_000
float: 1.50
exponent: 1e3
yes-or-no: yes
"true": true
nothing: ~
empty: ""
list:
- 1
- {deep: [true, null, "x"]}
text: |
  a
    b
---

# Types
---
not a fence
`

var once struct {
	fixtures, generated sync.Once
	tree                [2]*tree
	err                 [2]error
}

// fixtures returns a small tree with every kind of odd skill. The skill that sorts first has a
// subfolder, since the conformance suite looks only into that skill.
func fixtures(t *testing.T) *tree {
	t.Helper()
	once.fixtures.Do(func() {
		r := &tree{name: "fixtures", dir: filepath.Join(treesDir(), "fixtures"), skills: 5, files: 18}
		once.tree[0], once.err[0] = r, put(r.dir, map[string]string{
			"a-odd/SKILL.md":                     oddMD, // a byte-order mark, and CRLF
			"a-odd/!0 ä#%41.bin":                 "\x00\x01\xff",
			"a-odd/!1 [empty] 'x'.txt":           "",
			"a-odd/sub/a+b & c.md":               "One line.\r\n",
			"a-odd/sub/deep/~100%25;=,@$.md":     "Deep.\n",
			"a-odd/sub/deep/日本語.md":              "日本語\n",
			"a-odd/sub/LICENSE":                  "No extension.\n",
			"a-odd/sub/latin1.txt":               "caf\xe9\n",
			"a-odd/sub/.hidden":                  "CANARY",
			"a-odd/.env":                         "CANARY",
			"git/SKILL.md":                       gitMD,
			"git/hooks/SKILL.md":                 nestedMD,
			"git/hooks/pre-commit.sh":            "#!/bin/sh\n",
			"git/references/merge.md":            "Merge.\r\n",
			"git/references/empty.png":           "",
			"some where/else+/types/SKILL.md":    typesMD,
			"some where/else+/types/nul.txt":     "a\x00b",
			"z/.agents/skills/in-a-dot/SKILL.md": "---\nname: in-a-dot\ndescription: Below a dot-folder.\n---\n",
			"skipped/SKILL.md":                   "---\nname: skipped\n---\n",
			"unpublished/SKILL.md":               "---\nname: Not A Valid Name\ndescription: Served, not published.\n---\n",
			"unpublished-metadata/SKILL.md":      "---\nname: unpublished-metadata\ndescription: Served.\nmetadata: {a: 1}\n---\n",
			"unpublished-description/SKILL.md":   "---\nname: unpublished-description\ndescription: " + strings.Repeat("é", 1025) + "\n---\n",
			"unpublished-yaml/SKILL.md":          "---\nname: unpublished-yaml\ndescription: Say: repaired.\n---\n",
			"unpublished-infinity/SKILL.md":      "---\nname: unpublished-infinity\ndescription: Served.\nx: .inf\n---\n",
			"node_modules/not-found/a/SKILL.md":  "---\nname: a\ndescription: Not looked at.\n---\n",
		})
	})
	if once.err[0] != nil {
		t.Fatal(once.err[0])
	}
	return once.tree[0]
}

// generatedSkills is the number of generated skills. It exceeds the length of a page of
// skills/list.
const generatedSkills = 600

// generated returns a tree of skills with the sizes and faults of authored ones. Medians and tails
// are those of 40,217 real skills; the words are invented.
func generated(t *testing.T) *tree {
	t.Helper()
	once.generated.Do(func() {
		g := &generator{tree: tree{name: "generated", dir: filepath.Join(treesDir(), "generated")}, rand: rand.New(rand.NewPCG(2640, 4))}
		for i := range generatedSkills {
			if err := g.skill(i); err != nil {
				once.err[1] = err
				return
			}
		}
		once.tree[1] = &g.tree
	})
	if once.err[1] != nil {
		t.Fatal(once.err[1])
	}
	return once.tree[1]
}

type generator struct {
	tree
	rand *rand.Rand
}

// quantiles contains the values of a distribution at 0, 50, 95, 99 and 100 %.
type quantiles [5]float64

var (
	filesASkill  = quantiles{1, 2, 12, 35, 60}
	skillMDBytes = quantiles{200, 5800, 20_000, 34_000, 60_000}
	fileBytes    = quantiles{0, 3900, 22_000, 60_000, 100_000}
	descriptions = quantiles{20, 276, 647, 926, 1020}
)

func (g *generator) draw(q quantiles) int {
	at, u := [5]float64{0, .5, .95, .99, 1}, g.rand.Float64()
	i := 1
	for u > at[i] {
		i++
	}
	return int(q[i-1] + (q[i]-q[i-1])*(u-at[i-1])/(at[i]-at[i-1]))
}

var words = strings.Fields("branch build cache check commit deploy diff fetch graph hook index issue label lint merge note parse patch plan " +
	"query queue rebase release report review schema search sort stash tag test trace tree")

// text returns n bytes of text, in lines and sentences.
func (g *generator) text(n int) string {
	var b bytes.Buffer
	for b.Len() < n {
		b.WriteString(words[g.rand.IntN(len(words))])
		b.WriteString([]string{" ", " ", " ", " ", ", ", ". ", ".\n"}[g.rand.IntN(7)])
	}
	b.Truncate(n)
	return b.String()
}

// sentence returns a text that is a plain scalar in YAML.
func (g *generator) sentence(n int) string {
	text := strings.NewReplacer("\n", " ", ", ", " and ", ". ", " or ").Replace(g.text(n))
	return "Use to " + strings.TrimRight(text[:max(n-8, 4)], " .,") + "."
}

// skill writes a skill, and counts it if it is published. Each fault occurs at its real rate.
func (g *generator) skill(i int) error {
	folder := fmt.Sprintf("%s-%s-%04d", words[i%len(words)], words[g.rand.IntN(len(words))], i)
	at := []string{"skills/", "plugins/one/skills/", "plugins/two/skills/", "packages/a/b/c/"}[g.rand.IntN(4)]
	if g.rand.IntN(100) < 8 {
		at = "packages/d/.agents/skills/" // 7.8 % are below dot-folders
	}
	name, description, more, published := folder, g.sentence(g.draw(descriptions)), "", true
	skillMD := "---\nname: %s\ndescription: %s\n%s---\n\n# %s\n\n%s"
	fault := g.rand.IntN(1000)
	switch {
	case i == 0: // sorts first, and has a subfolder
		at, folder, name = "a/", "a-first", "a-first"
	case fault < 80: // a valid name that differs from the folder's name
		name += "-x"
	case fault < 116:
		name, published = strings.ToUpper(name[:1])+name[1:], false
	case fault < 121: // an unquoted colon
		description, published = "Say: "+description, false
	case fault < 125:
		description, published = g.sentence(1100), false
	case fault < 175:
		more = "metadata:\n  version: \"1.10\"\n"
	case fault < 225:
		more, published = "metadata:\n  version: 1.10\n", false
	case fault < 265:
		more = "allowed-tools: Read, Bash(git:*)\ndate: 2026-01-02\nversion: 1.10\ntags: [a, b]\n"
	case fault < 275:
		skillMD = "\ufeff" + skillMD
	case fault < 285:
		skillMD = strings.ReplaceAll(skillMD, "\n", "\r\n")
	case fault < 290:
		skillMD, published = "name: %s\ndescription: %s\n%s\n# %s\n\n%s", false
	}
	files := map[string]string{"SKILL.md": fmt.Sprintf(skillMD, name, description, more, folder, g.text(g.draw(skillMDBytes)))}
	n := g.draw(filesASkill)
	if i == 0 {
		n = 3
	}
	for f := 1; f < n; f++ {
		kind := []string{"references/%s-%d.md", "references/%s-%d.md", "scripts/%s-%d.py", "assets/%s %d.png", "%s-%d.txt"}[g.rand.IntN(5)]
		if i == 0 {
			kind = "references/%s-%d.md"
		}
		text := g.text(g.draw(fileBytes))
		if strings.HasSuffix(kind, ".png") {
			text = "\x89PNG\r\n\x1a\n\x00" + text
		}
		files[fmt.Sprintf(kind, words[g.rand.IntN(len(words))], f)] = text
	}
	if g.rand.IntN(100) < 1 { // a nested skill is published on its own, and its files also belong to the outer skill
		files["nested/inner-"+folder+"/SKILL.md"] = "---\nname: inner-" + folder + "\ndescription: " + g.sentence(60) + "\n---\n"
		files["nested/inner-"+folder+"/data.json"] = "{}\n"
		g.skills, g.files = g.skills+1, g.files+2
	}
	if published {
		g.skills, g.files = g.skills+1, g.files+len(files)
	}
	return put(filepath.Join(g.dir, filepath.FromSlash(at+folder)), files)
}
