package listing

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/profile"
)

// made has generators of libraries, by the kind of their descriptions. Each returns the i-th skill.
var made = map[string]func(i int) (name, description string){
	"words": func(i int) (string, string) { return fmt.Sprintf("skill-%04d", i), "Cuts." },
	"long": func(i int) (string, string) {
		return fmt.Sprintf("do-%d", i), strings.Repeat("one more word ", 73) + "ok"
	},
	"unbroken": func(i int) (string, string) { return fmt.Sprintf("run-%d", i), "x " + strings.Repeat("y", 1000) },
	"Thai": func(i int) (string, string) {
		return fmt.Sprintf("เอกสาร-%d", i), strings.Repeat("การจัดการเอกสารและไฟล์ ", 30)
	},
	"Chinese": func(i int) (string, string) {
		return fmt.Sprintf("技能-%d", i), strings.Repeat("处理各种文档和表格，", 60)
	},
	"emoji": func(i int) (string, string) { return fmt.Sprintf("e-%d", i), strings.Repeat("😀 & \"<b>\" ", 60) },
	"beginnings": func(i int) (string, string) {
		return fmt.Sprintf("guide-to-thing-%d", i), "Use this skill when the user wants to work with the thing of the same name, number " + fmt.Sprint(i) + ", and with nothing else."
	},
	"mixed": func(i int) (string, string) {
		return fmt.Sprint("m", strings.Repeat("-long", i%9), i), strings.TrimSpace(strings.Repeat("some words. ", 1+i*i%40))
	},
}

// TestLayFillsItsPlaces checks Lay for libraries of all sizes and for each unit. If anything is
// cut, at most 15 % of a place is empty, or less than a row, or its rows are uncut. No place has
// more than its budget, a name is in one place at most, and no description is cut to less than 30
// characters.
func TestLayFillsItsPlaces(t *testing.T) {
	libraries := map[string]func(i int) (string, string){}
	for kind, entry := range made {
		libraries[kind] = entry
	}
	if real := realOnes(t); len(real) > 0 {
		libraries["real"] = func(i int) (string, string) {
			d := real[i%len(real)]
			return d[0] + strings.Repeat("-again", i/len(real)), d[1] // names may repeat
		}
	}
	sizes := []int{1, 2, 9, 40, 150}
	if testwait.SecondLane() {
		sizes = append(sizes, 200, 500, 2000)
	}
	for kind, entry := range libraries {
		var all []string
		for i := range 2000 {
			name, description := entry(i)
			all = append(all, name, description)
		}
		for _, n := range sizes {
			skills := skilltest.Entries(all[:2*n]...)
			for _, budgets := range [][]int{{400}, {3450}, {16000}, {3450, 3350}} {
				units := []profile.Unit{profile.UTF16, profile.Characters, profile.Bytes, profile.JSON}
				if strings.Join(all[:4], "")[0] < utf8.RuneSelf && kind != "emoji" { // ASCII has the same length in most units
					units = units[:1]
				}
				for _, unit := range units {
					checkLay(t, fmt.Sprintf("%s, %d skills, %d in unit %d", kind, n, budgets, unit), skills, unit, budgets)
				}
			}
		}
	}
}

func checkLay(t *testing.T, which string, skills []*catalog.Entry, unit profile.Unit, budgets []int) {
	places := []Place{{Budget: budgets[0], Whole: Elements, Row: EscapedBullets, Search: "find_skills"}}
	if len(budgets) > 1 {
		places = append(places, Place{Budget: budgets[1], Whole: Markdown, Row: Markdown, Search: "`find_skills`"})
	}
	texts, a := Lay(skills, Order(catalog.View{}, skills, false), unit, places...)
	cut, missing, names := make([]bool, len(texts)), 0, make([]map[string]bool, len(texts))
	for p, text := range texts {
		names[p] = map[string]bool{}
		for line := range strings.Lines(text) {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "- "), ": ")
			names[p][name] = true
			for name := range strings.SplitSeq(strings.TrimSpace(strings.TrimPrefix(line, othersByName)), ", ") {
				names[p][name] = true
			}
		}
	}
	for i, e := range skills {
		for p := range texts {
			isHere := a.Omits(i) || names[p][places[p].Row.escape(display.OneLine(e.Name))]
			cut[p] = cut[p] || isHere && (!a.Describes(i) || a.Cuts(i, e.Description))
		}
		if a.Omits(i) {
			missing++
		}
	}
	all := strings.Join(texts, "\n")
	for p, text := range texts {
		switch used := unit.Length(text); {
		case used > budgets[p]:
			t.Errorf("%s: place %d holds %d", which, p, used)
		case cut[p] && used*100 < budgets[p]*85 && budgets[p]-used > 160:
			t.Errorf("%s: place %d holds only %d:\n%.600s", which, p, used, text)
		}
		if !utf8.ValidString(text) {
			t.Errorf("%s: a character is split", which)
		}
	}
	if missing > 0 != strings.Contains(all, fmt.Sprintf("(and %d more skill", missing)) {
		t.Errorf("%s: %d names are left out, and the text says: %.100s", which, missing, all[max(0, len(all)-100):])
	}
	rows := map[string]string{}
	for line := range strings.Lines(all) {
		if row, ok := strings.CutPrefix(line, "- "); ok {
			name, text, _ := strings.Cut(strings.TrimSuffix(row, "\n"), ": ")
			if _, twice := rows[name]; twice && !strings.HasPrefix(which, "real") {
				t.Errorf("%s: %s is there twice", which, name)
			}
			rows[name] = text
		}
	}
	for i, e := range skills {
		text, ok := rows[EscapeXML(e.Name)]
		if gist := EscapeXML(skill.Gist(display.OneLine(e.Description))); ok && a.Cuts(i, e.Description) && text != gist && utf8.RuneCountInString(text) < leastRow {
			t.Errorf("%s: %s is cut to %q", which, e.Name, text)
		}
	}
}

// realOnes returns the names and descriptions of the corpus, or nil without it.
func realOnes(t testing.TB) (out [][2]string) {
	at := corpus.Find()
	if at == "" {
		return nil
	}
	err := filepath.WalkDir(filepath.Join(at, "skills"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != skill.MainFile {
			return err
		}
		folder := filepath.Dir(path)
		if s := skill.Load(&skill.Bundle{Path: filepath.Base(folder), Entry: skill.MainFile, FS: os.DirFS(folder)}); s.Available {
			out = append(out, [2]string{s.Name, s.Description})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
