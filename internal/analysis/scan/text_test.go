package scan

import (
	"strconv"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/characters"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
)

// tagsOf returns a text in tag characters.
func tagsOf(text string) string {
	return strings.Map(func(r rune) rune { return r + 0xe0000 }, text)
}

const wales = "\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f"

func TestCharacters(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"tags":                 {"a" + tagsOf("send it") + "b", "text-tags 1:2-7 7 tag characters, which spell 'send it'"},
		"tags after a flag":    {wales + tagsOf("x") + wales, "text-tags 1:8-1 1 tag character, which spell 'x'"},
		"tags of no text":      {"a\U000e0080\U000e0fff", "text-tags 1:2-2 2 tag characters"},
		"a long text":          {tagsOf(strings.Repeat("abc ", 99)), "text-tags 1:1-396 396 tag characters, which spell '" + strings.TrimSpace(strings.Repeat("abc ", 40)) + "…'"},
		"flags":                {wales + " " + wales + wales, ""},
		"selectors":            {"a\ufe00\ufe01\ufe02", "text-selectors 1:2-3 3 variation selectors in a row"},
		"selectors of bytes":   {"a\U000e0158\U000e0159\U000e0110", "text-selectors 1:2-3 3 variation selectors in a row, which spell 'hi'"},
		"two selectors":        {"\u2764\ufe0f\ufe0f", ""},
		"emoji":                {"\U0001f468\u200d\U0001f469\u200d\U0001f467 1\ufe0f\u20e3 \U0001f3f3\ufe0f\u200d\U0001f308", ""},
		"eight":                {"a " + strings.Repeat("\u200b", 8), "text-zero-width-run 1:3-8 8 invisible characters in a row, the first U+200B"},
		"eight with selectors": {"a " + strings.Repeat("\u200b\ufe0f", 4), "text-zero-width-run 1:3-8 8 invisible characters in a row, the first U+200B"},
		"seven":                {"a " + strings.Repeat("\u2060", 7), ""},
		"a mark at the start":  {"\ufeffabc", ""},
		"a mark in a word":     {"ab\ufeffc", "zero-width-in-word 1:3-1 U+FEFF in a word"},
		"Braille":              {strings.Repeat("\u2800", 80) + "\u28ff", ""},
		"icons":                {strings.Repeat("\U000f0001", 12), ""},
		"Persian":              {"می\u200cخواهم", ""},
		"Hindi":                {"क्\u200dष", ""},
		"Thai":                 {"สวัส\u200bดี", ""},
		"word":                 {"pass\u200bword", "zero-width-in-word 1:5-1 U+200B in a word"},
		"override":             {"a \u202eb\u202c", "text-bidi 1:3-1 1 character that can reorder the text on the screen, in a run that begins with U+202E"},
		"marks of direction":   {"שלום\u200f a\u200e", ""},
		"two alphabets":        {"see p\u0430ypal", "homoglyph-word 1:5-6 the word 'pаypal' has letters that only look Latin: U+0430"},
		"Greek":                {"\u039fpenAI", "homoglyph-word 1:1-6 the word 'ΟpenAI' has letters that only look Latin: U+039F"},
		"Russian":              {"Привет, мир! USB-кабель", ""},
		"Russian and English":  {"microсервис", ""},
		"mostly Cyrillic":      {"сораc", ""},
		"before a word":        {"see \u200bword\u200b.", ""},
		"quantities":           {"10 kΩ, 3 μm, Δx, λmax, σxy, Ωm", ""},
		"far below":            {"a" + strings.Repeat("\n", 61) + "b", "text-far 62:1-1 text after 60 blank lines: 'b'"},
		"far below blanks":     {strings.Repeat(" \t\r\n", 60) + "  b", "text-far 61:3-1 text after 60 blank lines: 'b'"},
		"not so far below":     {"a" + strings.Repeat("\n", 60) + "b", ""},
		"far right":            {"a" + strings.Repeat(" ", 200) + "b c", "text-far 1:202-3 text after 200 blanks: 'b c'"},
		"blanks at the end":    {"a b" + strings.Repeat(" ", 500) + "\n", ""},
		"a cell":               {"| a" + strings.Repeat(" ", 500) + "|\n", ""},
	} {
		var got []string
		for _, f := range scanText("a.txt", c.text, kindText).Findings {
			if f.Rule == passage.Bidi && len(got) > 0 { // an override and its end are two findings
				continue
			}
			got = append(got, string(f.Rule)+" "+f.Position.String()+"-"+strconv.Itoa(f.Length)+" "+f.Message)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestTagsEverywhere checks that tag characters are found in every kind of text, and decoded
// (doc/scan.md).
func TestTagsEverywhere(t *testing.T) {
	for path, kind := range map[string]fileKind{"SKILL.md": kindMarkdown, "references/a.md": kindMarkdown, "scripts/a.sh": kindShell, "a.json": kindSettings, "a.py": kindPython, "a.txt": kindText, "a.zip!b.txt": kindText} {
		r := scanText(path, "a: "+tagsOf("run it")+"\n", kind)
		if len(r.Findings) != 1 || r.Findings[0].File != path || !strings.Contains(r.Findings[0].Message, "'run it'") || r.Enforce != 1 {
			t.Errorf("%s: %+v", path, r.Findings)
		}
		if r := scanText(path, "a: "+wales+"\n", kind); len(r.Findings) > 0 {
			t.Errorf("%s: %+v", path, r.Findings)
		}
	}
}

func FuzzCharacters(f *testing.F) {
	for _, seed := range []string{"a", tagsOf("a"), wales, "\ufe00\ufe01\ufe02", "\u200b\u200b", "p\u0430ypal", "\xff\xf3\xa0", "a" + strings.Repeat(" ", 201) + "b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := newScanner(Options{})
		characters.Scan(s, fileOf("a.txt", strings.ToValidUTF8(text, "?")).Whole())
		s.report()
	})
}
