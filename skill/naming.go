package skill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Suggest returns a valid name for any text: its words in lower case, without the marks on letters,
// joined by hyphens. It leaves out words that cannot be written with a-z and 0-9. If no word is
// left, it returns "my-skill". It appends "-skill" to the name of a Windows device.
func Suggest(s string) string {
	var words []string
	for _, word := range strings.FieldsFunc(latin(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		// Leave out a word with other letters completely, because the rest of it would not be a
		// word.
		if display.IsASCII(word) {
			words = append(words, word)
		}
	}
	name := strings.Join(words, "-")
	if len(name) > MaxName {
		name = strings.Trim(name[:MaxName], "-")
	}
	if WindowsFault(name) != "" {
		name += "-skill"
	}
	return cmp.Or(name, "my-skill")
}

// latin removes the marks on letters and lowers their case: "Größe" becomes "grosse".
func latin(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, display.FoldCase(norm.NFKD.String(s)))
	return plainLetters.Replace(s)
}

// plainLetters replaces letters of Latin alphabets that Unicode does not decompose into a letter
// and a mark.
var plainLetters = strings.NewReplacer("ø", "o", "ł", "l", "đ", "d", "ð", "d", "ħ", "h", "ı", "i", "ŧ", "t", "þ", "th", "æ", "ae", "œ", "oe")

// Line returns the frontmatter line for a name, in quotes if YAML 1.1 or 1.2 reads the
// bare word as something else: null, true, on, 123, a date.
func Line(name string) string {
	isNumber := name != "" && strings.ContainsRune("0123456789", rune(name[0])) && !strings.ContainsAny(name, "ghijklmnpqrstuvwyz")
	isBool := slices.Contains([]string{"y", "n", "yes", "no", "on", "off"}, strings.ToLower(name))
	if name == "" || isNumber || isBool || frontmatter.KindOf(name) != frontmatter.String {
		return "name: '" + name + "'"
	}
	return "name: " + name
}

// reservedNames lists the devices of Windows, which are reserved with any extension
// (learn.microsoft.com, Naming Files, Paths, and Namespaces).
var reservedNames = map[string]bool{
	"CON": true, "PRN": true, "AUX": true, "NUL": true, "CONIN$": true, "CONOUT$": true,
	"COM1": true, "COM2": true, "COM3": true, "COM4": true, "COM5": true, "COM6": true, "COM7": true, "COM8": true, "COM9": true,
	"LPT1": true, "LPT2": true, "LPT3": true, "LPT4": true, "LPT5": true, "LPT6": true, "LPT7": true, "LPT8": true, "LPT9": true,
	"COM¹": true, "COM²": true, "COM³": true, "LPT¹": true, "LPT²": true, "LPT³": true,
}

// WindowsFault returns the reason that Windows refuses a name, for example "the name of a
// device", or "" for a name that Windows accepts.
func WindowsFault(name string) string {
	for _, r := range name {
		if r < ' ' || strings.ContainsRune(`<>:"|?*\`, r) {
			return fmt.Sprintf("the character %q", r)
		}
	}
	if base, _, _ := strings.Cut(name, "."); reservedNames[strings.ToUpper(strings.TrimRight(base, " "))] {
		return "the name of a device"
	}
	if strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") {
		return "a dot or space at its end"
	}
	return ""
}
