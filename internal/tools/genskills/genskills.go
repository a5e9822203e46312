// Package genskills generates any number of realistic skills, for benchmarks and tests that need
// more skills than a corpus has.
//
// The skills follow distributions that were measured over public repositories (20,790 distinct
// skills): files per skill, bytes of SKILL.md and of other files, characters of a description,
// fields and form of the frontmatter, and kinds of faults. The words are a few dozen technical
// terms among many thousands of made-up words, in the proportions of a natural language, so that a
// search index does as much work as with real text. No text is copied.
//
// The i-th skill depends only on the options and i.
package genskills

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path"
	"strings"
)

// Options configure the skills. The zero value makes skills without faults.
type Options struct {
	Seed uint64
	// Faults is the share of skills that have a fault. Each has one, in the proportions of real
	// skills.
	Faults float64
	// Collisions is the share of skills that take their name from a few hundred names.
	Collisions float64
	// MainOnly leaves out all files but SKILL.md.
	MainOnly bool
	// Flat puts all skills side by side. Otherwise they are nested as deep as real skills.
	Flat bool
	// MaxFiles bounds the number of files in a skill, and MaxBytes the size of each file. If they
	// are 0, the bounds are 200 and 1 MiB.
	MaxFiles, MaxBytes int
}

// Skill is a generated skill.
type Skill struct {
	Path              string // its folder, separated by slashes
	Name, Description string // before a fault is applied
	Fault             string // the kind of fault, or ""
	Files             []File // SKILL.md first
}

// File is one file of a skill.
type File struct {
	Path       string // relative to the skill
	Data       []byte
	Executable bool
}

// At returns the i-th skill.
func (o Options) At(i int) Skill {
	if o.MaxFiles == 0 {
		o.MaxFiles = 200
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 20
	}
	g := maker{rand.New(rand.NewPCG(o.Seed, uint64(i)))}
	s := Skill{Name: g.name(3) + fmt.Sprintf("-%x", i)}
	if g.Float64() < o.Collisions {
		s.Name = g.few() + "-" + g.few()
	}
	if g.Float64() < o.Faults {
		s.Fault = pick(g, faults)
	}
	s.Path = o.place(g, s.Name, i)
	s.Description = g.description()
	other := g.others(o)
	main := File{Path: "SKILL.md", Data: g.main(s, other, o)}
	if s.Fault == "spelling" {
		main.Path = "skill.md"
	}
	s.Files = append([]File{main}, other...)
	return s
}

// maker generates one skill.
type maker struct{ *rand.Rand }

func (o Options) place(g maker, name string, i int) string {
	group := trade[i%len(trade)] + "-" + trade[i/len(trade)%len(trade)]
	layout := pick(g, layouts)
	if o.Flat {
		layout = "NAME"
	}
	place := strings.NewReplacer("NAME", name, "GROUP", group).Replace(layout)
	if o.Collisions > 0 {
		place += fmt.Sprintf("-%x", i) // names may be equal, folders must not
	}
	return place
}

func (g maker) few() string { return trade[g.IntN(12)] }

func (g maker) name(n int) string {
	parts := make([]string, 1+g.IntN(n))
	for i := range parts {
		parts[i] = g.telling()
	}
	name := strings.Join(parts, "-")
	return strings.Trim(name[:min(len(name), 50)], "-")
}

func (g maker) description() string {
	n := min(max(g.size(descriptions), 20), 1024)
	if g.Float64() < 0.35 {
		return g.sentence("Use when ", n)
	}
	return g.sentence("", n)
}

// sentence returns a sentence that is close to n characters long, and not longer.
func (g maker) sentence(begin string, n int) string {
	var b strings.Builder
	b.WriteString(begin)
	for {
		w := g.word()
		if b.Len()+len(w)+2 > n {
			break
		}
		if b.Len() > len(begin) {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	text := b.String()
	if text == begin {
		text += trade[g.IntN(len(trade))]
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func (g maker) others(o Options) (files []File) {
	if o.MainOnly {
		return nil
	}
	n := min(g.size(fileCounts), o.MaxFiles)
	for k := range n - 1 {
		kind := pick(g, kinds)
		name := fmt.Sprintf("%s-%d%s", g.word(), k, kind.ending)
		if g.Float64() < 0.88 {
			name = path.Join(kind.folder, name)
		}
		f := File{Path: name, Data: g.content(kind.ending, min(g.size(otherBytes), o.MaxBytes))}
		f.Executable = kind.folder == "scripts" && g.Float64() < 0.27
		files = append(files, f)
	}
	return files
}

func (g maker) content(ending string, n int) []byte {
	switch ending {
	case ".png", ".ttf":
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(g.Uint32())
		}
		if n > 0 {
			data[0] = 0
		}
		return data
	case ".json":
		return fmt.Appendf(nil, "{\"text\": %q}\n", g.prose(max(n-14, 0)))
	}
	return []byte(g.prose(n))
}

// size draws a number whose logarithm is uniform between the points of a table.
func (g maker) size(table []point) int {
	u := g.Float64()
	i := 1
	for i < len(table)-1 && table[i].share < u {
		i++
	}
	a, b := table[i-1], table[i]
	part := (u - a.share) / (b.share - a.share)
	return int(math.Exp(math.Log(a.size+1)*(1-part)+math.Log(b.size+1)*part) - 0.5)
}

// point says that the given share of all numbers is at most size.
type point struct{ share, size float64 }

// weighted is a value with its frequency.
type weighted[T any] struct {
	value  T
	weight float64
}

func pick[T any](g maker, table []weighted[T]) T {
	sum := 0.0
	for _, w := range table {
		sum += w.weight
	}
	u := g.Float64() * sum
	for _, w := range table {
		if u -= w.weight; u < 0 {
			return w.value
		}
	}
	return table[len(table)-1].value
}
