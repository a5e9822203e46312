package agents

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/knack-dev/knack/internal/test/corpus"
)

// counts lists the numbers of skills in the table of sizes.
var counts = []int{17, 100, 200, 2000}

// chosenCount reports whether to measure with n skills. If KNACK_AGENTS_SIZES is set, it must
// contain n.
func chosenCount(n int) bool {
	value := os.Getenv(sizesOf)
	return value == "" || slices.Contains(strings.Split(value, ","), strconv.Itoa(n))
}

// testSizes measures how much of knack's list the model sees at the start.
func testSizes(t *testing.T, a agent, _ string) {
	cells := []string{a.name}
	for _, n := range counts {
		if !chosenCount(n) {
			cells = append(cells, "")
			continue
		}
		skills := sample(t, n)
		p := &play{}
		r := begin(t, a, fmt.Sprintf("sizes-%d", n), "", p)
		if err := writeSample(filepath.Join(r.home, ".agent", "skills"), skills); err != nil {
			t.Fatal(err)
		}
		w := r.play(t, p)
		s := measure(look(r.model.Requests()[0], w).ours, skills)
		s.bytes = r.size() - alone.size(t, a)
		s.check(t, a, n)
		cells = append(cells, s.String())
	}
	seen.cell(t, "sizes", cells...)
}

// testNative measures the client's own list of the same skills.
func testNative(t *testing.T, a agent, _ string) {
	cells := []string{a.name + native}
	for _, n := range counts {
		if !chosenCount(n) {
			cells = append(cells, "")
			continue
		}
		skills := sample(t, n)
		r := begin(t, a, fmt.Sprintf("native-%d", n), "", &play{})
		if err := writeSample(filepath.Join(r.home, filepath.FromSlash(a.own)), skills); err != nil {
			t.Fatal(err)
		}
		r.alone(t)
		s := measure(plain(r.model.Requests()[0].Text()), skills)
		s.bytes = r.size() - alone.size(t, a)
		cells = append(cells, s.String())
	}
	seen.cell(t, "sizes", cells...)
}

// alone runs the client without knack.
func (r *session) alone(t *testing.T) {
	t.Helper()
	if err := r.client(r.agent.args(r, prompt)...); err != nil {
		t.Error(err)
	}
	if len(r.model.Requests()) == 0 {
		t.Fatalf("%s asked no model: %s%s", r.agent.title, tail(r.stdout), tail(r.stderr))
	}
}

// size returns the number of bytes of the first request, without those of the path of the session's
// folder.
func (r *session) size() int {
	return len(strings.ReplaceAll(string(r.model.Requests()[0].Raw), r.dir, ""))
}

// alone contains the size of each client's first request without knack and without skills.
var alone = &baselines{sizes: map[string]int{}}

type baselines struct {
	sync.Mutex
	sizes map[string]int
}

func (b *baselines) size(t *testing.T, a agent) int {
	t.Helper()
	b.Lock()
	n, ok := b.sizes[a.name]
	b.Unlock()
	if ok {
		return n
	}
	r := begin(t, a, "bare", "", &play{})
	r.alone(t)
	b.Lock()
	defer b.Unlock()
	b.sizes[a.name] = r.size()
	return b.sizes[a.name]
}

// sample returns n skills: first those of [repository], then others of the corpus, ordered by a
// hash of their names. If the corpus has fewer than n, the same skills follow again under other
// names.
func sample(t *testing.T, n int) []listedSkill {
	t.Helper()
	first, err := list(corpus.Dir(t, "skills", repository))
	if err != nil {
		t.Fatal(err)
	}
	all, err := list(corpus.Dir(t, "skills"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, s := range first {
		known[s.Name] = true
	}
	all = slices.DeleteFunc(all, func(s listedSkill) bool {
		again := known[s.Name]
		known[s.Name] = true
		return again
	})
	hash := func(s listedSkill) string { h := sha256.Sum256([]byte(s.Name)); return string(h[:]) }
	slices.SortFunc(all, func(a, b listedSkill) int { return cmp.Compare(hash(a), hash(b)) })
	all = slices.Concat(first, all)
	for i := 0; len(all) < n; i++ {
		s := all[i]
		s.Name += "-again"
		all = append(all, s)
	}
	return all[:n]
}

// writeSample writes skills with the names and descriptions of these skills below a folder.
func writeSample(dir string, skills []listedSkill) error {
	for _, s := range skills {
		description, err := json.Marshal(s.Description)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("---\nname: %s\ndescription: %s\n---\nNothing to do.\n", s.Name, description)
		if err := write(filepath.Join(dir, s.Name), map[string]string{"SKILL.md": text}); err != nil {
			return err
		}
	}
	return nil
}

// shownList measures the part of a list that a model sees.
type shownList struct {
	names, described int
	characters       int // the characters of all descriptions together
	bytes            int // the bytes that the list adds to the first request
}

// String returns the text for a cell of the table.
func (s shownList) String() string {
	each := ""
	if s.described > 0 {
		each = fmt.Sprintf(" × %d", s.characters/s.described)
	}
	return fmt.Sprintf("%d/%d%s, %.1f kB", s.names, s.described, each, float64(s.bytes)/1000)
}

// check fails the test if the model sees fewer or shorter descriptions than the client has room
// for. It checks only lists of at most 200 skills.
func (s shownList) check(t *testing.T, a agent, n int) {
	t.Helper()
	all := n * 95 / 100
	switch w := a.want; {
	case n > 200 || w.line || w.described != 0 && n > 17 && n < 200:
	case n == 200 && w.described != 0:
		if s.described < w.described {
			t.Errorf("of %d skills %d are described, want %d", n, s.described, w.described)
		}
	case s.described < all || s.characters < all*50:
		t.Errorf("of %d skills %s are described, want %d with 50 characters each", n, s, all)
	}
}

// minShown is the least number of characters with which a description counts as shown.
const minShown = 25

// measure counts the names in a text, and the characters of the description after each name.
func measure(text string, skills []listedSkill) (s shownList) {
	lower := strings.ToLower(text)
	for _, skill := range skills {
		named, most := false, 0
		name := strings.ToLower(skill.Name)
		for at := 0; ; {
			i := strings.Index(lower[at:], name)
			if i < 0 {
				break
			}
			from := at + i
			at = from + len(name)
			if !bounded(lower, from, at) {
				continue
			}
			named = true
			most = max(most, begins(lower[at:min(len(lower), at+4096)], strings.ToLower(plain(skill.Description))))
		}
		if named {
			s.names++
		}
		if most > 0 {
			s.described++
			s.characters += most
		}
	}
	return s
}

// bounded reports whether text[from:to] is a whole name, and not a part of a longer one.
func bounded(text string, from, to int) bool {
	word := func(c byte) bool { return c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' }
	return (from == 0 || !word(text[from-1])) && (to == len(text) || !word(text[to]))
}

// openings bounds the bytes that a list may leave out at the beginning of a description.
const openings = 100

// begins returns how many characters of a description follow a name. It skips the marks or tags
// that a list puts between the two. The list may leave out words at the beginning of the
// description.
func begins(behind, description string) (most int) {
	for range 4 { // skips </name><description>, or a key's name
		behind = strings.TrimLeftFunc(behind, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		for from := 0; from < min(openings, len(description)); {
			n := 0
			for n < len(behind) && from+n < len(description) && behind[n] == description[from+n] {
				n++
			}
			most = max(most, n)
			next := strings.IndexByte(description[from:], ' ')
			if next < 0 {
				break
			}
			from += next + 1
		}
		if most >= minShown {
			return len([]rune(behind[:most]))
		}
		if most == len(description) {
			return most
		}
		i := strings.IndexFunc(behind, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if i < 0 {
			break
		}
		behind = behind[i:]
		most = 0
	}
	return 0
}
