package listing

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/test/corpus"
)

// hollow lists words that fit any skill: grammar, talk of skills and users, and the most general
// verbs and adjectives.
var hollow = wordSet(`a an the this that these those it its their his her them they to for of in on at by with without
	within from into onto about across via through over under between and or nor but as than so if when whenever while
	before after during until is are be been being was were has have had do does did can could may might must shall
	should will would not no any all each every some such more most other others another both either only also just even
	very i you your we our us he she one who whom whose which what where why how always never explicitly proactively
	automatically directly anything thing things
	use uses used using user users usage invoke invoked load loaded activate activated apply applied applies trigger
	triggers triggered skill skills agent agents claude codex assistant model models guide guides guidance guideline
	guidelines task tasks want wants wanted need needs needed ask asks asked asking request requests requested requesting
	mention mentions mentioned say says like someone time help helps helping
	work works working create creates creating created build builds building make makes making write writes writing
	develop develops developing implement implements implementing plan plans planning design designs designing improve
	improves improving optimize optimizes optimizing increase increases increasing evaluate evaluates evaluating manage
	manages managing set sets setting up add adds adding update updates updating fix fixes fixing analyze analyzes
	analyzing review reviews reviewing perform performs performing provide provides providing handle handles handling
	support supports supporting understand understanding generate generates generating run runs running start starts
	starting get gets getting find finds finding
	new existing comprehensive complete full effective efficient best various different specific common general advanced
	expert professional high quality`)

var words = regexp.MustCompile(`[\pL\pN]+(?:[.'+#-][\pL\pN]+)*`)

// saysNothing reports whether the text of a row has fewer than two words that are neither hollow
// nor in the row's name.
func saysNothing(name, text string) bool {
	inName, telling := words.FindAllString(strings.ToLower(strings.ReplaceAll(name, "-", " ")), -1), 0
	for _, w := range words.FindAllString(strings.ToLower(text), -1) {
		repeats := func(part string) bool {
			return slices.ContainsFunc(inName, func(n string) bool { return strings.TrimSuffix(part, "s") == strings.TrimSuffix(n, "s") })
		}
		if parts := strings.FieldsFunc(w, func(r rune) bool { return r == '-' || r == '.' || r == '\'' }); !hollow[w] && len(w) > 1 && !repeats(w) && !slices.ContainsFunc(parts, repeats) {
			telling++
		}
	}
	return telling < 2
}

// TestShortDescriptionsSaySomething checks that at most 5 of the first 190 real descriptions say
// nothing when cut to 64 characters, and no larger share of all descriptions. Plain cuts leave 26
// such texts. A description that fits is never changed.
func TestShortDescriptionsSaySomething(t *testing.T) {
	corpus.Dir(t)
	seen, silent := map[string]bool{}, []string{}
	for _, s := range realOnes(t) {
		name, description := s[0], display.OneLine(s[1])
		if seen[name] {
			continue
		}
		seen[name] = true
		it := item{name: name}
		it.describe(description)
		for _, n := range []int{utf8.RuneCountInString(description), 2000} {
			if got := it.brief(n); got != description {
				t.Errorf("%s is changed, and there is room for %d characters: %q", name, n, got)
			}
		}
		text := it.brief(64)
		if utf8.RuneCountInString(text) > 64 {
			t.Errorf("%s is cut to %d characters", name, utf8.RuneCountInString(text))
		}
		if text != description && saysNothing(name, text) {
			silent = append(silent, name+": "+text)
		}
		if len(seen) == 190 && len(silent) > 5 {
			t.Errorf("%d of the first 190 say nothing:\n%s", len(silent), strings.Join(silent, "\n"))
		}
	}
	if len(silent)*190 > 5*len(seen) {
		t.Errorf("%d of %d say nothing:\n%s", len(silent), len(seen), strings.Join(silent, "\n"))
	}
}
