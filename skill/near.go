package skill

import (
	"strconv"
	"strings"
	"unicode"
)

// maxNear is longer than any name that resembles SKILL.md.
const maxNear = 40

// heldBack lists words by which authors mark a file as inactive.
const heldBack = `draft|wip|local`

var (
	reHeldBack = later(`(?i)^skills?[ ._-](?:` + heldBack + `)\b`)
	reNearMain = later(`^skills?(?:(?: - |[ _-])?(?:\([0-9]+\)|[0-9]|copy(?: \([0-9]+\))?)|[ ._-](?:` + heldBack + `))?(?:\.[a-z]{2}(?:-[a-z]{2,4})?)?` +
		`(?: ?(?:\.\.|[._,-])?(?:md|markdown|mdown|mkd|mdx|mdc|mdd|mmd|dm|txt|text|rtf|docx?|bak|orig|old|tmp)|~)+(?: \([0-9]+\))?$`)
	reNearEnd = later(`^(.*)\.(?:md|markdown|mdx|mdc|txt)$`)
)

// lookalikes maps letters that look like those of SKILL.md.
var lookalikes = strings.NewReplacer("ѕ", "s", "к", "k", "і", "i", "ӏ", "l", "ⅼ", "l", "м", "m", "ԁ", "d", "\u212a", "k")

// NearMain reports whether a file's name was probably meant as SKILL.md: SKILLS.md,
// skill.md.txt, SKILL (1).md, SKIL.md, or a name that only looks like it. Spellings that
// differ in case do not count: they are [EntryNames] or reported as a fault of the file.
func NearMain(name string) bool {
	if !MayBeNearMain(name) || strings.EqualFold(name, MainFile) && isASCII(name) {
		return false
	}
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 0xff01 && r <= 0xff5e: // the wide forms of ASCII
			r -= 0xfee0
		case r == ' ':
		case unicode.IsSpace(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	plain = strings.TrimSpace(lookalikes.Replace(strings.TrimLeft(plain, "._-")))
	plain = strings.TrimPrefix(plain, "copy of ")
	switch {
	case plain == "skill" || plain == "skills":
		return name == "SKILL" || name == "SKILLS" // in lower case it could mean anything
	case reNearMain().MatchString(plain), plain == "skillmd":
		return true
	}
	m := reNearEnd().FindStringSubmatch(plain)
	return m != nil && isSlip(m[1])
}

// BeginsAsMain reports whether a text begins with a line ---, like a SKILL.md.
func BeginsAsMain(head []byte) bool {
	line, _, _ := strings.Cut(strings.TrimPrefix(string(head[:min(len(head), 64)]), "\ufeff"), "\n")
	return strings.TrimRight(line, " \t\r") == "---"
}

// HeldBack reports whether a name that resembles SKILL.md marks the file as inactive:
// SKILL-draft.md, SKILL.local.md.
func HeldBack(name string) bool { return reHeldBack().MatchString(name) }

// MayBeNearMain is a fast filter for [NearMain]: it looks at two letters, and is false for
// most names for which NearMain is false.
func MayBeNearMain[T string | []byte](name T) bool {
	if len(name) < len("skil") || len(name) > maxNear {
		return false
	}
	first, second := name[0]|0x20, name[1]|0x20
	return first == 's' && (second == 'k' || second == 'i' || second == 'l' || second >= 0x80) ||
		first == 'k' && second == 's' || name[0] >= 0x80 || name[0] <= ' ' || (name[0] == '.' || name[0] == '_' || name[0] == '-') && second == 's' ||
		first == 'c' && second == 'o' && len(name) > 8 && name[4] == ' ' // Copy of SKILL.md
}

// isSlip reports whether a letter of "skill" is missing, doubled or transposed. A replaced
// letter may make another word: still, spill.
func isSlip(stem string) bool {
	const word = "skill"
	for i := range word {
		if i > 0 && (stem == word[:i]+word[i+1:] || stem == word[:i]+word[i-1:]) {
			return true
		}
		if i > 0 && stem == word[:i-1]+word[i:i+1]+word[i-1:i]+word[i+1:] && stem != word {
			return true
		}
	}
	// In most fonts a capital I, a small l and a 1 look the same.
	return stem == word+"l" || strokes.Replace(stem) == strokes.Replace(word)
}

var strokes = strings.NewReplacer("i", "l", "1", "l", "|", "l")

// Spelt returns the name of a file for people: unchanged, or quoted with escapes if it has
// invisible characters or look-alike letters.
func Spelt(name string) string {
	if !isASCII(name) || OneLine(name) != name {
		return strconv.QuoteToASCII(name)
	}
	return name
}
