package search

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/difftest"
)

func wordsOf(text string) (all []string) {
	for w := range words(text) {
		all = append(all, string(w))
	}
	return all
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "",
		" \t-_./:\x00":               "",
		"Git":                        "git",
		"react-native_app/v2.1":      "react native app v2 1",
		"C++, c# and F#; g++":        "c++ c# and f# g++",
		"a++b a#b #1 # ++ ab# a+":    "a b a b 1 ab a",
		"the user's files' 's isn't": "the user files s isn t",
		"the user’s":                 "the user",
		"ÉCLAIR e\u0301clair":        "eclair eclair",
		"Große STRASSE":              "grosse strasse",
		"smørrebrød Łódź":            "smorrebrod lodz",
		"ＦＵＬＬ　ｗｉｄｔｈ":                 "full width",
		"ﬁle №5":                     "file no5",
		"Ελλάδα ΕΛΛΆΔΑ":              "ελλαδα ελλαδα",
		"İstanbul ISTANBUL":          "istanbul istanbul",
		"हिन्दी":                     "हिन्दी",
		"Ꮮꮮ ꮮᏞ":                      "ꮮꮮ ꮮꮮ",
		"数据分析":                       "数据 据分 分析 析",
		"数":                          "数",
		"用Go写API":                    "用 go 写 api",
		"データ・分析":                     "デー ータ タ 分析 析",
		"한국어 문서":                     "한국 국어 어 문서 서",
		"a\u202eb\ufeffc":            "a b c",
		"\xff\xfea\xc3":              "a",
	} {
		difftest.Same(t, strings.Join(wordsOf(text), " "), want, text)
	}
	difftest.Same(t, wordsOf(strings.Repeat("a", 100)), []string{strings.Repeat("a", maxWord)}, "a long word")
	difftest.Same(t, wordsOf(strings.Repeat("я", 100)), []string{strings.Repeat("я", maxWord/2)}, "a long word of wide letters")
}

// TestWordsEnd checks that words stops reading when its caller stops.
func TestWordsEnd(t *testing.T) {
	for _, text := range []string{"one two three", "één twee drie", "数据分析 数据"} {
		n := 0
		for range words(text) {
			if n++; n == 2 {
				break
			}
		}
		difftest.Same(t, n, 2, text)
	}
}

// TestStem checks the examples of Porter's article, stemmed by the whole algorithm.
func TestStem(t *testing.T) {
	for line := range strings.Lines(`
caresses caress ponies poni ties ti caress caress cats cat feed feed agreed agre plastered plaster bled bled motoring motor sing sing
conflated conflat troubled troubl sized size hopping hop tanned tan falling fall hissing hiss fizzed fizz failing fail filing file
happy happi sky sky relational relat conditional condit rational ration valency valenc hesitancy hesit digitizer digit conformably conform
radically radic differently differ vilely vile analogously analog vietnamization vietnam predication predic operator oper feudalism feudal
decisiveness decis hopefulness hope callousness callous formality formal sensitivity sensit sensibility sensibl triplicate triplic formative form
formalize formal electricity electr electrical electr hopeful hope goodness good revival reviv allowance allow inference infer airliner airlin
gyroscopic gyroscop adjustable adjust defensible defens irritant irrit replacement replac adjustment adjust dependent depend adoption adopt
communism commun activate activ angularity angular homologous homolog effective effect bowdlerize bowdler probate probat rate rate cease ceas
controlling control roll roll
as as is is s s by by c++ c++ v2 v2 größe größe deploys deploy deployments deploy deploying deploy yyy yyy replies repli reply repli
`) {
		all := strings.Fields(line)
		for i := 0; i < len(all); i += 2 {
			if got := string(stem([]byte(all[i]))); got != all[i+1] {
				t.Errorf("%s becomes %s, want %s", all[i], got, all[i+1])
			}
		}
	}
}

// TestStemTogether checks the algorithm's additions to Porter's. All words of a line have the same
// stem, and words of different lines have different stems.
func TestStemTogether(t *testing.T) {
	lines := map[string]string{}
	for line := range strings.Lines(`
		optimise optimised optimising optimises optimize optimizing optimisation optimization optimiser
		visualise visualising visualisation visualize visualization
		generalise generalisation generalize generalization
		realise realised realising realize realized
		organise organised organisation organize organization
		analyse analysed analyses analysing analysis analyze analyzing analyzer
		analytics analytical
		colour colours coloured colouring color colors
		behaviour behavioural behavior
		catalogue catalogues catalog cataloguing
		transcribe transcribes transcribing transcription transcriptions transcript
		describe description descriptions
		subscribe subscriber subscription
		script scripts scripting
		verify verifies verified verification
		classify classifier classification
		summary summaries summarise summarize summarizing
		discover discovery discovering
		art arts
		artery arteries
		query queries
		cryptography cryptographic
		ontology ontologies ontological
		raise raises raised raising
		revise revised revising revision
		promise promises promised promising
		compliance compliant
		instance instances
		instant
		four
		for
		hour hours
		factor factors
		factory factories
		director directors
		directory directories
		vary varies`) {
		for _, word := range strings.Fields(line) {
			root := string(stem([]byte(word)))
			if was, ok := lines[root]; ok && was != line {
				t.Errorf("%s becomes %s, as in %q", word, root, was)
			}
			lines[root] = line
		}
		roots := map[string]bool{}
		for _, word := range strings.Fields(line) {
			roots[string(stem([]byte(word)))] = true
		}
		if len(roots) > 1 {
			t.Errorf("%q become %v", line, roots)
		}
	}
}

// TestSynonyms checks that a search for a short form finds the long form, and the reverse. A search
// for a word also finds the head word that skills use instead, but not the reverse.
func TestSynonyms(t *testing.T) {
	short := map[string]bool{}
	for word := range maps.Keys(synonyms()) {
		for _, group := range shortForms {
			short[word] = short[word] || slices.Contains(group, word)
		}
	}
	for word, others := range synonyms() {
		for _, other := range others {
			back := slices.Contains(synonyms()[other], word)
			if back != short[word] || stop()[word] || stop()[other] || string(stem([]byte(word))) == string(stem([]byte(other))) {
				t.Errorf("%s and %s", word, other)
			}
			difftest.Same(t, found(indexOf(Doc{Name: "x", Description: other}, Doc{Name: "y"}), word), []string{"x"}, word)
		}
	}
	difftest.Same(t, found(indexOf(Doc{Name: "x", Description: "databases"}), "db"), []string{"x"}, "another form of a synonym")
	difftest.Same(t, found(indexOf(Doc{Name: "pptx"}), "decks"), []string{"pptx"}, "a plural")
	difftest.Same(t, found(indexOf(Doc{Name: "powerpoint"}), "pptx"), []string(nil), "the head word")
	difftest.Same(t, found(indexOf(Doc{Name: "pr-writer"}), "merge requests"), []string{"pr-writer"}, "two words")
}

// TestLettersAreNear checks that the filter before the edit distance drops no word that is near
// enough.
func TestLettersAreNear(t *testing.T) {
	word := "größe7ab"
	letters := []rune(word)
	try := func(d int, changed []rune) {
		t.Helper()
		if n := bitDistance(letterSet(word), letterSet(string(changed))); n > 2*d {
			t.Errorf("%s and %s are %d bits apart", word, string(changed), n)
		}
	}
	for i := range letters {
		for _, r := range "az09öü数#" {
			try(1, slices.Insert(slices.Clone(letters), i, r))
			swapped := slices.Clone(letters)
			swapped[i] = r
			try(1, swapped)
		}
		try(1, slices.Delete(slices.Clone(letters), i, i+1))
	}
}

// TestFoldOnce checks that folding is idempotent. Otherwise a word copied from a page would not be
// found in that page.
func TestFoldOnce(t *testing.T) {
	for r := range rune(0x40000) { // no higher plane has letters
		folded := fold("a" + string(r) + "a")
		if twice := fold(folded); twice != folded {
			t.Errorf("%q: %q, and then %q", r, folded, twice)
		}
	}
}
