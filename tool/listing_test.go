package tool

import (
	"fmt"
	"html"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
)

// entriesOf makes a listing from alternating names and descriptions.
func entriesOf(texts ...string) []*catalog.Entry {
	var out []*catalog.Entry
	for i := 0; i < len(texts); i += 2 {
		out = append(out, &catalog.Entry{
			Skill: &skill.Skill{Name: texts[i], Description: texts[i+1]},
			Root:  &skill.Root{Scope: skill.ScopeProject},
		})
	}
	return out
}

func TestListStages(t *testing.T) {
	two := entriesOf("alpha", "Does one thing. Does it rather well, too.", "beta", "Handles all the words that somebody may write")
	tests := []struct {
		name    string
		entries []*catalog.Entry
		budget  int
		more    string
		want    string
	}{
		{"none", nil, 200, "find_skills", "(none)"},
		{"full", two, 104, "find_skills", "- alpha: Does one thing. Does it rather well, too.\n- beta: Handles all the words that somebody may write"},
		{"shortened at words", entriesOf("alpha", "Does one thing and does it rather well whatever the case may be, in every way that was ever thought of"), 100, "find_skills",
			"- alpha: Does one thing and does…\n(descriptions are shortened to fit; find_skills shows them whole)"},
		{"shortened at a sentence", entriesOf("alpha", "Does one thing very well. Does it so that there is nothing more to wish for at any time by anybody here"), 102, "find_skills",
			"- alpha: Does one thing very well.\n(descriptions are shortened to fit; find_skills shows them whole)"},
		{"shortened without find_skills", entriesOf("alpha", "Does one thing very well. Does it so that there is nothing more to wish for at any time by anybody here"), 102, "",
			"- alpha: Does one thing very well.\n(descriptions are shortened to fit; load a skill to see it whole)"},
		{"names only", two, 90, "find_skills", "alpha, beta\n(descriptions are left out to fit; find_skills shows them whole)"},
		{"names only without find_skills", two, 90, "", "alpha, beta\n(descriptions are left out to fit; load a skill to see it whole)"},
		{"names and no room to say more", two, 11, "", "alpha, beta"},
		{"names cut", entriesOf("alpha", "d", "beta", "d", strings.Repeat("g", 80), "d", "delta", "d"), 80, "find_skills",
			"alpha, beta\n(and 2 more skills, not shown to fit; use find_skills to see them)"},
		{"names cut without find_skills", entriesOf("alpha", "d", "beta", "d", strings.Repeat("g", 80), "d", "delta", "d"), 80, "",
			"alpha, beta\n(and 2 more skills, not shown to fit; each loads by its name)"},
		{"one name too long for any list", entriesOf(strings.Repeat("g", 300), "d", "beta", "d"), 200, "list_skills",
			"beta\n(and 1 more skill, not shown to fit; use list_skills to see it)"},
		{"no name at all", entriesOf(strings.Repeat("g", 300), "d"), 200, "find_skills",
			"(and 1 more skill, not shown to fit; use find_skills to see it)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			same(t, list(tt.entries, bullets, plain, tt.budget, tt.more), tt.want)
		})
	}
}

// Of very many skills only those that can be in the list are read, and the others are still
// reported.
func TestListOfManyLooksAtFew(t *testing.T) {
	var texts []string
	for i := range 20_000 {
		texts = append(texts, fmt.Sprintf("skill-%05d", i), "What it does.")
	}
	for _, budget := range []int{40, 200, Budget} {
		r := &rows{entries: entriesOf(texts...)}
		text, a := arrange(r, elements, escapeXML, budget, findName)
		if len(r.made) > Budget/len("skill-00000")+1 {
			t.Errorf("%d rows were made for %d characters", len(r.made), budget)
		}
		shown := 0
		for i, e := range r.entries {
			stands := strings.Contains(text, e.Name)
			if stands == a.left.has(i) {
				t.Fatalf("%s stands in the list of %d characters: %v", e.Name, budget, stands)
			}
			if stands {
				shown++
			}
		}
		if rest := fmt.Sprintf("(and %d more skills", 20_000-shown); !strings.Contains(text, rest) || budget > 100 && shown == 0 || budget == 40 && shown > 0 {
			t.Errorf("%d characters, %d skills: %s", budget, shown, text)
		}
	}
}

func TestListFullAtTheBudget(t *testing.T) {
	e := entriesOf("a", strings.Repeat("b", 50), "c", strings.Repeat("d", 50))
	whole := list(e, bullets, plain, 1000, "")
	same(t, list(e, bullets, plain, length(whole), ""), whole)
	if list(e, bullets, plain, length(whole)-1, "") == whole {
		t.Error("one character over the budget is shown")
	}
}

// many makes n skills with descriptions of the given length.
func many(n, size int) *memory {
	files := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("skill-%05d", i)
		d := strings.TrimSpace(strings.Repeat("Works on all the words. ", size/24+1)[:size])
		files[name+"/SKILL.md"] = md(name, d)
	}
	return global(files)
}

func TestSkillListBudgets(t *testing.T) {
	tests := []struct {
		n, size int
		client  Client
		want    string // what the list ends with, and so which stage it is in
		names   int
	}{
		{20, 200, Client{}, "</skill>", 20},
		{100, 300, Client{}, "(descriptions are shortened to fit; find_skills shows them whole)", 100},
		{500, 300, Client{}, "(descriptions are left out to fit; find_skills shows them whole)", 500},
		{2000, 30, Client{}, "(and 775 more skills, not shown to fit; use find_skills to see them)", 1225},
		{3, 100, Client{Name: "claude-code"}, "</skill>", 3},
		{10, 300, Client{Name: "Claude-Code"}, "(descriptions are shortened to fit; find_skills shows them whole)", 10},
		{30, 300, Client{Name: "claude-code"}, "(descriptions are left out to fit; find_skills shows them whole)", 30},
		{300, 300, Client{Name: "claude-code"}, "more skills, not shown to fit; use find_skills to see them)", 0},
		{300, 300, Client{Limit: 1024}, "more skills, not shown to fit; use find_skills to see them)", 0},
		{300, 300, Client{Name: "claude-code", Limit: 1024}, "more skills, not shown to fit; use find_skills to see them)", 0},
	}
	for _, tt := range tests {
		v := viewOf(t, hostOf(t, many(tt.n, tt.size)))
		d := toolOf(t, "default", "skill").Define(v, tt.client).Description
		_, shown, _ := strings.Cut(d, "<available_skills>\n")
		shown = strings.TrimSuffix(shown, "\n</available_skills>")
		if !strings.HasSuffix(shown, tt.want) {
			t.Errorf("%d skills of %d for %+v end in %q", tt.n, tt.size, tt.client, shown[max(0, len(shown)-100):])
		}
		if n := strings.Count(shown, "skill-0"); tt.names > 0 && n != tt.names {
			t.Errorf("%d skills of %d for %+v: %d names", tt.n, tt.size, tt.client, n)
		}
		limit := tt.client.Limit
		if limit == 0 && tt.client.Name != "" {
			limit = 2048
		}
		if limit > 0 && length(d) > limit || length(shown) > Budget {
			t.Errorf("%d skills of %d for %+v: %d characters, of them %d the list", tt.n, tt.size, tt.client, length(d), length(shown))
		}
	}
}

// A client that cuts still sees the contract's own description whole.
func TestSkillUniversalForClientThatCuts(t *testing.T) {
	v := viewOf(t, hostOf(t, many(300, 300)))
	d := toolOf(t, "universal", "skill").Define(v, Client{Name: "claude-code"}).Description
	if length(d) > 2048 || !strings.HasSuffix(d, "skills, not shown to fit; each loads by its name)\n</available_skills>") {
		t.Errorf("%d characters, the end is %q", length(d), d[len(d)-100:])
	}
}

func TestNotFoundListIsBudgeted(t *testing.T) {
	h := hostOf(t, many(2000, 200))
	inBoth(t, func(t *testing.T, set string) {
		if n := length(call(t, h, set, "skill", args{"name": "zzzz"}).Text); n > Budget+200 {
			t.Errorf("%d characters", n)
		}
	})
}

var alphabet = []string{"a", "bb", "Word", "é", "日本", "😀", "<", "&", " ", "  ", ". ", "! ", "。", ",", ":", "-", "\n", "\u202e", "e\u0301", strings.Repeat("x", 40)}

func randomText(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

// TestListProperties checks for random libraries that the list keeps its budget, its order
// and every name, unless the names alone exceed the budget.
func TestListProperties(t *testing.T) {
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
		entries := entriesOf(texts...)
		budget := 100 + r.IntN(4000)
		for _, st := range []struct {
			style
			escape func(string) string
		}{{bullets, plain}, {elements, escapeXML}} {
			shownNames = shownNames[:0]
			for _, e := range entries {
				shownNames = append(shownNames, st.escape(display.OneLine(e.Name)))
			}
			got := list(entries, st.style, st.escape, budget, "find_skills")
			if length(got) > budget {
				t.Fatalf("seed %d: %d characters, the budget is %d:\n%s", seed, length(got), budget, got)
			}
			if !utf8.ValidString(got) {
				t.Fatalf("seed %d: a character was split", seed)
			}
			all := length(strings.Join(shownNames, ", ")) <= budget
			at, last := 0, -1
			for i, n := range shownNames {
				j := strings.Index(got[at:], n)
				switch {
				case j < 0 && all:
					t.Fatalf("seed %d: %q is missing although the names fit in %d:\n%s", seed, n, budget, got)
				case j >= 0:
					at, last = at+j+len(n), i
				}
			}
			if !all && !strings.Contains(got, " more skill") {
				t.Fatalf("seed %d: names are missing (the last is %d) and it is not said:\n%s", seed, last, got)
			}
		}
	}
}

func TestListKeepsOrder(t *testing.T) {
	h := hostOf(t, project(map[string]string{"b/SKILL.md": md("B", "d"), "z/SKILL.md": md("a", "d")}), global(map[string]string{"A/SKILL.md": md("A2", "d")}))
	same(t, list(viewOf(t, h).Listed, bullets, plain, Budget, ""), "- a: d\n- B: d\n- A2: d")
}

func TestCut(t *testing.T) {
	tests := []struct {
		s    string
		n    int
		want string
	}{
		{"short", 5, "short"},
		{"short", 4, "sho…"},
		{"", 0, ""},
		{"x", 0, ""},
		{"xy", 1, "…"},
		{"One sentence. Another one", 20, "One sentence."},
		{"One. Another sentence", 18, "One. Another…"},
		{"Version 1.2 of the thing", 14, "Version 1.2…"},
		{"Really? Yes", 8, "Really?"},
		{"words, and more", 8, "words…"},
		{"a longwordwithoutanyblankinside", 20, "a longwordwithoutan…"}, // not half of what fits
		{"longwordwithoutanyblankinside", 10, "longwordw…"},
		{"処理します。そして次の文が続きます", 8, "処理します。"},
		{"日本語の文章がここにある", 6, "日本語の文…"},
		{"😀😀😀😀", 3, "😀😀…"},
		{"cafe\u0301s", 5, "caf…"},
		{"end of it.", 10, "end of it."},
		{"it ends here. x", 13, "it ends here."},
	}
	for _, tt := range tests {
		if got := Cut(tt.s, tt.n); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}

// TestCutProperties checks that Cut never exceeds the length or cuts a character, and cuts
// at a sentence or word that ends in the second half.
func TestCutProperties(t *testing.T) {
	for seed := range uint64(20000) {
		r := rand.New(rand.NewPCG(seed, 11))
		s := display.OneLine(randomText(r, r.IntN(40)))
		n := r.IntN(80)
		got := Cut(s, n)
		runes := []rune(s)
		if utf8.RuneCountInString(got) > n || !utf8.ValidString(got) {
			t.Fatalf("Cut(%q, %d) = %q", s, n, got)
		}
		body, cut := strings.CutSuffix(got, "…")
		if got == s || got == "" {
			continue
		}
		if !strings.HasPrefix(s, body) {
			t.Fatalf("Cut(%q, %d) = %q is no beginning", s, n, got)
		}
		rest := runes[utf8.RuneCountInString(body):]
		if !cut && !slices.Contains([]rune(".!?。！？"), runes[utf8.RuneCountInString(body)-1]) {
			t.Fatalf("Cut(%q, %d) = %q does not say that it is cut", s, n, got)
		}
		boundary := rest[0] == ' ' || strings.ContainsRune(" ,;:-", rest[0]) || !cut || isWord(rest[0])
		if !boundary && strings.IndexFunc(string(runes[n/2+1:n]), unicode.IsSpace) >= 0 {
			t.Fatalf("Cut(%q, %d) = %q ends inside a word", s, n, got)
		}
	}
}

func TestLength(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "é日": 2, "😀": 2, "e\u0301": 2} {
		if got := length(s); got != want {
			t.Errorf("length(%q) = %d, want %d", s, got, want)
		}
	}
}

// Every name as a list shows it loads that skill.
func TestShownNamesLoad(t *testing.T) {
	files := map[string]string{}
	for i, name := range []string{"R&D", "a  b", "x\u202ey", "<tag>", "&amp;", "don't", "ﬁle", "ÉCOLE", "İ", "a\u00a0b c"} {
		files[fmt.Sprintf("f%d/SKILL.md", i)] = md(`"`+name+`"`, "d")
	}
	h := hostOf(t, global(files))
	inBoth(t, func(t *testing.T, set string) {
		d := toolOf(t, set, "skill").Define(viewOf(t, h), Client{}).Description
		_, d, _ = strings.Cut(d, "<available_skills>")
		parts := strings.Split(d, "<name>")[1:]
		for _, part := range parts {
			shown, _, _ := strings.Cut(part, "</name>")
			for _, name := range []string{shown, html.UnescapeString(shown)} {
				if r := call(t, h, set, "skill", args{"name": name}); !strings.HasPrefix(r.Text, "Loading: ") {
					t.Errorf("%q is shown and does not load: %.80s", name, r.Text)
				}
			}
		}
		same(t, len(parts), len(files))
	})
}
