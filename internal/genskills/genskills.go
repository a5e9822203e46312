// Package genskills writes trees of skills with the sizes, the layout and, if
// asked for, the faults of real ones, for benchmarks and tests. The same options
// give the same bytes. The figures come from 40,217 skills that authors of 91
// public repositories wrote by hand; the text is random words.
package genskills

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// Options of a tree. The zero value of each field but N is a sensible default.
type Options struct {
	N    int    // skills
	Seed uint64 // another seed, another tree
	// Faults is the share of skills that get one fault, drawn as often as real
	// ones have it: between 0 and 1.
	Faults float64
	// Flat puts every skill directly below the root; else they lie in the folders
	// that repositories have.
	Flat bool
	// MainOnly writes SKILL.md and no other file.
	MainOnly bool
	// Shard, if positive, puts so many skills below one folder each: a hundred
	// thousand names in one folder are no tree that anybody has.
	Shard int
}

// Skill is one skill of a tree.
type Skill struct {
	Path  string // its folder, slash-separated below the root
	Name  string // as the frontmatter says it
	Fault string // which one, else ""
	Words string // the description without the words that each begins with
	Files []File // SKILL.md is the first
}

// File is one file of a skill.
type File struct {
	Path string // below the skill's folder
	Data []byte
	Mode os.FileMode
}

// Maximum sizes: what one answer or one published skill may carry is larger, but
// a tree of many must fit on a disk.
const (
	maxFiles = 200
	maxFile  = 1 << 20
)

// A quantile table: the share of skills, and the value that they stay below.
// Between two rows the logarithm is interpolated.
type quantiles [][2]float64

var (
	filesPerSkill = quantiles{{0, 1}, {.41, 1}, {.5, 2}, {.6, 3}, {.75, 5}, {.9, 8}, {.95, 12}, {.99, 35}, {.999, 117}, {1, 1104}}
	mainBytes     = quantiles{{0, 250}, {.05, 1222}, {.1, 1859}, {.25, 2907}, {.5, 5802}, {.75, 10558}, {.9, 16077}, {.95, 20151}, {.99, 33755}, {.999, 70708}, {1, 294426}}
	otherBytes    = quantiles{{0, 0}, {.05, 277}, {.2, 989}, {.5, 3942}, {.75, 8500}, {.9, 14537}, {.95, 22484}, {.99, 88970}, {.999, 854294}, {1, 4181864}}
	descRunes     = quantiles{{0, 19}, {.1, 95}, {.25, 165}, {.5, 276}, {.75, 370}, {.9, 523}, {.95, 647}, {.99, 926}, {1, 1024}}
)

func (q quantiles) draw(r *rand.Rand) int {
	u := r.Float64()
	i := 1
	for i < len(q)-1 && q[i][0] < u {
		i++
	}
	a, b := q[i-1], q[i]
	f := (u - a[0]) / (b[0] - a[0])
	return int(math.Round(math.Exp(math.Log(a[1]+1)*(1-f)+math.Log(b[1]+1)*f) - 1))
}

type weighted struct {
	what   string
	weight int
}

func pick(r *rand.Rand, of []weighted) string {
	sum := 0
	for _, w := range of {
		sum += w.weight
	}
	n := r.IntN(sum)
	for _, w := range of {
		if n -= w.weight; n < 0 {
			return w.what
		}
	}
	return ""
}

// layouts are where skills lie in repositories; {g} is a group of skills.
var layouts = []weighted{
	{"skills/{n}", 42}, {"plugins/{g}/skills/{n}", 25}, {"skills/{g}/{n}", 14}, {"{g}/{n}", 10},
	{".claude/skills/{n}", 4}, {".agents/skills/{n}", 3}, {"packages/{g}/.claude/skills/{n}", 2},
}

// extensions of the files beside SKILL.md, and the folder they lie in.
var extensions = []weighted{
	{"references .md", 580}, {"scripts .py", 150}, {"assets .json", 55}, {"scripts .sh", 35}, {"assets .xsd", 25},
	{"templates .yaml", 22}, {"benchmarks .patch", 20}, {"scripts .ts", 18}, {"references .txt", 18}, {"scripts .js", 22},
	{"assets .ttf", 7}, {"assets .html", 6}, {"assets .csv", 6}, {"assets .svg", 5}, {"assets .png", 5}, {". ", 26},
}

// Write writes the tree below dir, in which nothing may lie that it would write,
// and describes it without the files' data.
func Write(dir string, o Options) ([]Skill, error) {
	skills := make([]Skill, o.N)
	errs := make([]error, o.N)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(o.N); i = next.Add(1) - 1 {
				s := Make(int(i), o)
				errs[i] = s.write(dir)
				for f := range s.Files {
					s.Files[f].Data = nil
				}
				skills[i] = s
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return skills, nil
}

func (s Skill) write(root string) error {
	dir := filepath.Join(root, filepath.FromSlash(s.Path))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	made := dir
	for _, f := range s.Files {
		at := filepath.Join(dir, filepath.FromSlash(f.Path))
		if up := filepath.Dir(at); up != made {
			if err := os.MkdirAll(up, 0o755); err != nil {
				return err
			}
			made = up
		}
		if err := os.WriteFile(at, f.Data, f.Mode); err != nil {
			return err
		}
	}
	return nil
}

// Make makes the i-th skill of a tree without writing it.
func Make(i int, o Options) Skill {
	r := rand.New(rand.NewPCG(o.Seed, uint64(i)))
	name := fmt.Sprintf("%s-%x", strings.Trim(clip(joined(r, 1+r.IntN(3), "-"), 50), "-"), i)
	s := Skill{Name: name, Words: sentence(r, min(1024, max(20, descRunes.draw(r)))-len(useWhen))}
	group := fmt.Sprintf("%s-%s", words[i%len(words)], words[(i/len(words))%len(words)])
	at := "{n}"
	if layout := pick(r, layouts); !o.Flat {
		at = layout
	}
	s.Path = strings.NewReplacer("{n}", name, "{g}", group).Replace(at)
	if o.Shard > 0 {
		s.Path = fmt.Sprintf("part-%04d/%s", i/o.Shard, s.Path)
	}
	if r.Float64() < o.Faults {
		s.Fault = pick(r, faults)
	}
	n := min(maxFiles, max(1, filesPerSkill.draw(r)))
	size := min(maxFile, max(250, mainBytes.draw(r)))
	var others []File
	if !o.MainOnly {
		for k := range n - 1 {
			others = append(others, other(r, k))
		}
	}
	s.Files = append([]File{s.main(r, size, others)}, others...)
	return s
}

func other(r *rand.Rand, k int) File {
	folder, ext, _ := strings.Cut(pick(r, extensions), " ")
	name := fmt.Sprintf("%s-%d%s", word(r), k, ext)
	if r.Float64() < .88 && folder != "." {
		name = folder + "/" + name
	}
	f := File{Path: name, Mode: 0o644}
	size := min(maxFile, otherBytes.draw(r))
	switch ext {
	case ".png", ".ttf":
		f.Data = make([]byte, size)
		for i := range f.Data {
			f.Data[i] = byte(r.Uint32())
		}
		if size > 0 {
			f.Data[0] = 0
		}
	case ".json":
		f.Data = []byte(`{"text": "` + strings.Join(strings.Fields(text(r, size)), " ") + "\"}\n")
	default:
		f.Data = []byte(text(r, size))
	}
	if folder == "scripts" && r.Float64() < .27 {
		f.Mode = 0o755
	}
	return f
}

const useWhen = "Use when "

// main writes SKILL.md.
func (s *Skill) main(r *rand.Rand, size int, others []File) File {
	f := File{Path: "SKILL.md", Mode: 0o644}
	m := matter{name: s.Name, description: s.Words, close: "---\n"}
	if r.Float64() < .35 {
		m.description = useWhen + s.Words
	}
	if r.Float64() < .4 {
		m.description = `"` + m.description + `"`
	}
	m.more = optional(r)
	m.spoil(r, s, &f)
	var b strings.Builder
	b.WriteString(m.String())
	fmt.Fprintf(&b, "\n# %s\n\n", s.Name)
	for i, o := range others {
		if i < 6 && r.Float64() < .6 {
			fmt.Fprintf(&b, "See [%s](%s).\n", o.Path, o.Path)
		}
	}
	b.WriteString("\n" + text(r, size-b.Len()))
	f.Data = []byte(m.wrap(b.String()))
	return f
}

// optional are the fields beside name and description, as often as they occur.
func optional(r *rand.Rand) (lines []string) {
	add := func(share float64, make func() string) {
		if r.Float64() < share {
			lines = append(lines, make())
		}
	}
	add(.31, func() string { return fmt.Sprintf("version: %d.%d.%d", r.IntN(4), r.IntN(10), r.IntN(10)) })
	add(.30, func() string {
		return "license: " + [...]string{"MIT", "Apache-2.0", "Proprietary. LICENSE.txt has the terms"}[r.IntN(3)]
	})
	add(.28, func() string { return "author: " + word(r) + "-org" })
	add(.21, func() string {
		return "allowed-tools: " + [...]string{"Read, Write, Bash(git:*), Grep", "Read Write", `"Bash(git log:*), Read"`, "\n  - Read\n  - Bash"}[r.IntN(4)]
	})
	add(.21, func() string { return "tags: [" + joined(r, 4, ", ") + "]" })
	add(.15, func() string {
		return fmt.Sprintf("metadata:\n  author: %s\n  version: \"%d.0\"", word(r), 1+r.IntN(4))
	})
	add(.08, func() string { return "compatibility: Requires " + word(r) + " and network access" })
	return lines
}

func clip(s string, n int) string { return s[:min(n, len(s))] }

func word(r *rand.Rand) string { return words[r.IntN(len(words))] }

func joined(r *rand.Rand, n int, sep string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = word(r)
	}
	return strings.Join(out, sep)
}

// sentence is n characters of words with a capital and a full stop.
func sentence(r *rand.Rand, n int) string {
	n = max(n, 8)
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(word(r) + " ")
	}
	s := strings.TrimSpace(clip(b.String(), n-1))
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// text is n bytes of Markdown, cut from a text that all share.
func text(r *rand.Rand, n int) string {
	var b strings.Builder
	b.Grow(max(n, 0))
	for b.Len() < n {
		at := r.IntN(len(pool()))
		b.WriteString(clip(pool()[at:], n-b.Len()))
	}
	return b.String()
}

var pool = sync.OnceValue(func() string {
	r := rand.New(rand.NewPCG(99, 0))
	var b strings.Builder
	for b.Len() < 600_000 {
		switch k := r.Float64(); {
		case k < .08:
			fmt.Fprintf(&b, "\n## %s\n\n", sentence(r, 20))
		case k < .3:
			fmt.Fprintf(&b, "- **%s**: %s\n", word(r), sentence(r, 40+r.IntN(100)))
		case k < .36:
			fmt.Fprintf(&b, "```bash\n%s --%s <%s> && echo \"%s\"\n```\n", word(r), word(r), word(r), word(r))
		case k < .4:
			fmt.Fprintf(&b, "| %s | %s | %s |\n", word(r), word(r), word(r))
		default:
			b.WriteString(sentence(r, 60+r.IntN(300)) + "\n")
		}
	}
	return b.String()
})

var words = strings.Fields(`analyze deploy review extract generate validate query model report data api cloud test build image
document parse format audit security trading research email calendar browser workflow agent memory search index graph schema design
style token chart table export import convert summarize translate plan monitor alert debug trace profile cache queue stream batch
policy access release notes commit branch issue ticket customer invoice contract finance health biology chemistry protein sequence
market portfolio cluster container terminal script typed react swift mobile server engine postgres storage message`)
