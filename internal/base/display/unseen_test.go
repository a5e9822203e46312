package display

import (
	"strings"
	"testing"
	"unicode"

	"github.com/knack-dev/knack/internal/test/difftest"
)

// TestUnseen checks that the table of invisible characters agrees with the Unicode version of Go.
func TestUnseen(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := r >= 0xe0000 || r == 0x2800 || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point) ||
			unicode.Is(unicode.Variation_Selector, r) ||
			unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) // which are drawn
		if IsUnseen(r) != want {
			t.Errorf("%U: %t", r, !want)
		}
		if IsBidiControl(r) != unicode.Is(unicode.Bidi_Control, r) {
			t.Errorf("%U: it is or is not of UAX #9", r)
		}
		if (IsBidiControl(r) || IsTag(r)) && !IsUnseen(r) {
			t.Errorf("%U is seen", r)
		}
	}
}

// tagged returns a black flag, a text spelt with tags, and a cancel tag.
func tagged(s string) string {
	return "\U0001f3f4" + strings.Map(func(r rune) rune { return 0xe0000 + r }, s) + "\U000e007f"
}

// TestNeeded checks that real words, emoji and flags keep the invisible characters that shape them.
func TestNeeded(t *testing.T) {
	for _, s := range []string{
		"می\u200cخواهم خانه\u200cها کتابِ\u200cمن", // Persian: I want, houses, my book with a vowel sign
		"क्\u200dष क्\u200cष श्री", "नी\u200cत",    // Hindi: half form, explicit virama
		"അവന്\u200d പറഞ്ഞു", "അവന്\u200d", // Malayalam: he said; its chillu ends the word
		"র\u200d্যাব উৎ", "ශ්\u200dරී ලංකා", // Bengali, Sinhala
		"ܐܒ\u200cܓ", "ߒߞ\u200dߏ", "ᠮᠣ\u200dᠩ", // Syriac, N'Ko, Mongolian
		"👨\u200d👩\u200d👧\u200d👦", "👩🏽\u200d💻", "❤\ufe0f\u200d🔥", "🏳\ufe0f\u200d🌈", "🏳\ufe0f\u200d⚧\ufe0f", "🏴\u200d☠\ufe0f",
		"🏃🏿\u200d♀\ufe0f\u200d➡\ufe0f", "🙂\u200d↔\ufe0f", "⛓\ufe0f\u200d💥", "⛹\ufe0f\u200d♂\ufe0f", "🐈\u200d⬛", "🍋\u200d🟩", "👁\ufe0f\u200d🗨\ufe0f", "🧑🏻\u200d❤\ufe0f\u200d💋\u200d🧑🏿",
		"⚠\ufe0f ☎\ufe0e ©\ufe0f ™\ufe0f 1\ufe0f\u20e3 #\ufe0f\u20e3 ㊗\ufe0f 〰\ufe0f ▶\ufe0f ⬆\ufe0f ℹ\ufe0f 🅰\ufe0f",
		tagged("gbeng") + tagged("gbsct") + tagged("gbwls"),
	} {
		difftest.Same(t, Visible(s, CodePoint), s, "visible")
		difftest.Same(t, OneLine(s), s, "in one line")
	}
}

// TestVisible checks that a text keeps the invisible characters that it needs, and that all others
// are spelt out.
func TestVisible(t *testing.T) {
	const england = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
	for in, want := range map[string]string{
		"":                                        "",
		"plain\ttext\r\nin Ünï 日本 😀":              "plain\ttext\r\nin Ünï 日本 😀",
		"a\x00b\x1b[31m\x7f\u0085":                "a[U+0000]b[U+001B][31m[U+007F][U+0085]",
		"invoice\u202efdp.exe":                    "invoice[U+202E]fdp.exe",
		"\u200ba\u2060\ufeff":                     "[U+200B]a[U+2060][U+FEFF]",
		"so\u00adft":                              "so[U+00AD]ft",
		"\U0001d173\U0001d17a":                    "[U+1D173][U+1D17A]",
		"a\u200db":                                "a[U+200D]b",
		"नी\u200cत 👩\u200d💻":                      "नी\u200cत 👩\u200d💻",
		"👁\ufe0f\u200d🗨\ufe0f":                    "👁\ufe0f\u200d🗨\ufe0f",
		"👩\u200d\u200d💻":                          "👩[U+200D][U+200D]💻",
		"👩\u200d":                                 "👩[U+200D]",
		"日\u200b\u200d本":                          "日[U+200B][U+200D]本",
		england + "x":                             england + "x",
		strings.TrimSuffix(england, "\U000e007f"): "\U0001f3f4[U+E0067][U+E0062][U+E0065][U+E006E][U+E0067]",
		"\U0001f3f4\U000e007f":                    "\U0001f3f4[U+E007F]",
		england + "\U000e0041":                    england + "[U+E0041]",
		"git\U000e0041\U000e007f":                 "git[U+E0041][U+E007F]",
		"日\u200d本\u200c語":                         "日[U+200D]本[U+200C]語",
		"한\u200c글 ก\u200cข א\u200dב ─\u200d─": "한[U+200C]글 ก[U+200C]ข א[U+200D]ב ─[U+200D]─",
		"ब\u200cم":       "ब[U+200C]م",
		"م\u200c\u200dی": "م[U+200C][U+200D]ی",
		"म\u200c 👩\u200c💻 👩\u200d🏽":      "म[U+200C] 👩[U+200C]💻 👩[U+200D]🏽",
		"a\ufe0fb\ufe0e 1\ufe0f 日\ufe0f": "a[U+FE0F]b[U+FE0E] 1[U+FE0F] 日[U+FE0F]",
		"❤\ufe0f\ufe0f":                  "❤\ufe0f[U+FE0F]",
		"👩\ufe0f\ufe0f\u200d💻":           "👩\ufe0f[U+FE0F][U+200D]💻",
		"\u200c\u200d\ufe0f":             "[U+200C][U+200D][U+FE0F]",
		tagged("ignore"):                 "\U0001f3f4[U+E0069][U+E0067][U+E006E][U+E006F][U+E0072][U+E0065][U+E007F]",
		england + tagged("us"):           england + "\U0001f3f4[U+E0075][U+E0073][U+E007F]",
		tagged("gben"):                   "\U0001f3f4[U+E0067][U+E0062][U+E0065][U+E006E][U+E007F]",
		england + "\U000e007f":           england + "[U+E007F]",
		"\U000f0000":                     "[U+F0000]",
		"\xff\u202e\xff":                 "\xff[U+202E]\xff",
	} {
		difftest.Same(t, Visible(in, CodePoint), want, in)
		for _, r := range OneLine(in) {
			if unicode.IsControl(r) || IsBidiControl(r) || r == 0x200b || r == 0xe0041 || r == 0x1d173 {
				t.Errorf("%q has %U in one line", in, r)
			}
		}
	}
	difftest.Same(t, OneLine("a\u200b \u202eb\U000e0041 👩\u200d💻 "+england), "a b 👩\u200d💻 "+england, "in one line")
	difftest.Same(t, Visible("a\x1b\u202e\U000e0041", Escaped), `a\x1b\u202e\U000e0041`, "escaped")
}
