package listing

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/internal/test/skilltest"
)

// arranged returns the text of [Skills.Arrange].
func arranged(entries []*catalog.Entry, st Style, budget int, search string) string {
	text, _ := Of(entries).Arrange(st, budget, search)
	return text
}

func TestStages(t *testing.T) {
	two := skilltest.Entries("alpha", "Does one thing. Does it rather well, too.", "beta", "Handles all the words that somebody may write")
	var names, texts []string
	for i := range 21 {
		names = append(names, fmt.Sprintf("name-%02d", i))
		texts = append(texts, names[i], "What it does.")
	}
	many := skilltest.Entries(texts...)
	tests := []struct {
		name    string
		entries []*catalog.Entry
		budget  int
		more    string
		want    string
	}{
		{"none", nil, 200, "find_skills", "(none)"},
		{"full", two, 104, "find_skills", "- alpha: Does one thing. Does it rather well, too.\n- beta: Handles all the words that somebody may write"},
		{"shortened at words", skilltest.Entries("alpha", "Does one thing and does it rather well whatever the case may be, in every way that was ever thought of"), 100, "find_skills",
			"- alpha: Does one thing and does…\n(descriptions are shortened to fit; find_skills shows them whole)"},
		{"shortened at a sentence", skilltest.Entries("alpha", "Does one thing very well. Does it so that there is nothing more to wish for at any time by anybody here"), 102, "find_skills",
			"- alpha: Does one thing very well.\n(descriptions are shortened to fit; find_skills shows them whole)"},
		{"shortened without find_skills", skilltest.Entries("alpha", "Does one thing very well. Does it so that there is nothing more to wish for at any time by anybody here"), 102, "",
			"- alpha: Does one thing very well.\n(descriptions are shortened to fit; load a skill to see it whole)"},
		{"names only", two, 90, "find_skills", "alpha, beta\n(descriptions are left out to fit; find_skills shows them whole)"},
		{"names only without find_skills", two, 90, "", "alpha, beta\n(descriptions are left out to fit; load a skill to see it whole)"},
		{"names and little room to say more", two, 35, "", "alpha, beta\n(descriptions left out)"},
		{"names and no room to say more", many, 208, "", strings.Join(names, ", ")},
		{"some names and little room to say more", two, 34, "find_skills", "(2 more; find_skills lists them)"},
		{"names cut in little room", many, 50, "", "name-00\n(20 more; an unknown name lists them)"},
		{"names cut", skilltest.Entries("alpha", "d", "beta", "d", strings.Repeat("g", 80), "d", "delta", "d"), 80, "find_skills",
			"alpha, beta\n(and 2 more skills, not shown to fit; use find_skills to see them)"},
		{"names cut without find_skills", skilltest.Entries("alpha", "d", "beta", "d", strings.Repeat("g", 80), "d", "delta", "d"), 80, "",
			"alpha, beta\n(and 2 more skills, not shown to fit; each loads by its name)"},
		{"one name too long for any list", skilltest.Entries(strings.Repeat("g", 300), "d", "beta", "d"), 200, "list_skills",
			"beta\n(and 1 more skill, not shown to fit; use list_skills to see it)"},
		{"no name at all", skilltest.Entries(strings.Repeat("g", 300), "d"), 200, "find_skills",
			"(and 1 more skill, not shown to fit; use find_skills to see it)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			difftest.Same(t, arranged(tt.entries, Bullets, tt.budget, tt.more), tt.want)
		})
	}
}

// TestManySkills checks that Arrange reads only as many of very many skills as the list has room
// for, and still counts the others.
func TestManySkills(t *testing.T) {
	var texts []string
	for i := range 20_000 {
		texts = append(texts, fmt.Sprintf("skill-%05d", i), "What it does.")
	}
	for _, budget := range []int{40, 200, Budget} {
		s := Of(skilltest.Entries(texts...))
		text, a := s.Arrange(Elements, budget, "find_skills")
		if len(s.rows) > Budget/len("skill-00000")+1 {
			t.Errorf("%d rows were made for %d characters", len(s.rows), budget)
		}
		named := 0
		for i, e := range s.entries {
			isNamed := strings.Contains(text, e.Name)
			if isNamed == a.Omits(i) {
				t.Fatalf("%s is in the list of %d characters: %v", e.Name, budget, isNamed)
			}
			if isNamed {
				named++
			}
		}
		rest := fmt.Sprintf("(and %d more skills", 20_000-named)
		if budget == 40 {
			rest = "(20000 more; find_skills lists them)"
		}
		if !strings.Contains(text, rest) || budget > 100 && named == 0 || budget == 40 && named > 0 {
			t.Errorf("%d characters, %d skills: %s", budget, named, text)
		}
	}
}

func TestWholeAtTheBudget(t *testing.T) {
	e := skilltest.Entries("a", strings.Repeat("b", 50), "c", strings.Repeat("d", 50))
	whole := arranged(e, Bullets, 1000, "")
	difftest.Same(t, arranged(e, Bullets, display.Length(whole), ""), whole)
	if arranged(e, Bullets, display.Length(whole)-1, "") == whole {
		t.Error("one character over the budget is shown")
	}
}

var alphabet = []string{"a", "bb", "Word", "é", "日本", "😀", "<", "&", " ", "  ", ". ", "! ", "。", ",", ":", "-", "\n", "\u202e", "e\u0301", strings.Repeat("x", 40)}

func randomText(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

// TestProperties checks for random libraries that the list keeps its budget, its order
// and every name, unless just the names exceed the budget.
func TestProperties(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of random lists")
	}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		var texts, shownNames []string
		for i := range r.IntN(30) {
			name := fmt.Sprintf("n%d_%s", i, strings.ReplaceAll(randomText(r, r.IntN(6)), ",", ""))
			if r.IntN(40) == 0 {
				name += strings.Repeat("y", 300)
			}
			texts = append(texts, name, randomText(r, r.IntN(60)))
		}
		entries := skilltest.Entries(texts...)
		budget := LeastBudget + r.IntN(4000)
		for _, st := range []Style{Bullets, Elements} {
			shownNames = shownNames[:0]
			for _, e := range entries {
				shownNames = append(shownNames, st.escape(display.OneLine(e.Name)))
			}
			got := arranged(entries, st, budget, "find_skills")
			if display.Length(got) > budget {
				t.Fatalf("seed %d: %d characters, the budget is %d:\n%s", seed, display.Length(got), budget, got)
			}
			if !utf8.ValidString(got) {
				t.Fatalf("seed %d: a character was split", seed)
			}
			all := budget >= MinBudget && display.Length(strings.Join(shownNames, ", ")) <= budget
			at, last, missing := 0, -1, 0
			for i, n := range shownNames {
				j := strings.Index(got[at:], n)
				switch {
				case j < 0 && all:
					t.Fatalf("seed %d: %q is missing although the names fit in %d:\n%s", seed, n, budget, got)
				case j < 0:
					missing++
				default:
					at, last = at+j+len(n), i
				}
			}
			if missing > 0 && !strings.Contains(got, fmt.Sprintf("%d more", missing)) {
				t.Fatalf("seed %d: names are missing (the last is %d) and it is not said:\n%s", seed, last, got)
			}
		}
	}
}

func TestOrder(t *testing.T) {
	c := skilltest.Catalog(t, skilltest.Project(map[string]string{"b/SKILL.md": skilltest.Document("B", "d"), "z/SKILL.md": skilltest.Document("a", "d")}), skilltest.Global(map[string]string{"A/SKILL.md": skilltest.Document("A2", "d")}))
	difftest.Same(t, arranged(skilltest.View(t, c).Listed, Bullets, Budget, ""), "- a: d\n- B: d\n- A2: d")
}
