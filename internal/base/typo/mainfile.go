package typo

import (
	"strings"
	"unicode"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// mainFile is the name of a skill's main file.
const mainFile = "SKILL.md"

// maxLength is greater than the length of any name that resembles SKILL.md.
const maxLength = 40

// draftWords lists the words in a file name that mark the file as inactive.
const draftWords = `draft|wip|local`

var (
	reDraft    = lazyregexp.New(`(?i)^skills?[ ._-](?:` + draftWords + `)\b`)
	reMainFile = lazyregexp.New(`^skills?(?:(?: - |[ _-])?(?:\([0-9]+\)|[0-9]|copy(?: \([0-9]+\))?)|[ ._-](?:` + draftWords + `))?(?:\.[a-z]{2}(?:-[a-z]{2,4})?)?` +
		`(?: ?(?:\.\.|[._,-])?(?:md|markdown|mdown|mkd|mdx|mdc|mdd|mmd|dm|txt|text|rtf|docx?|bak|orig|old|tmp)|~)+(?: \([0-9]+\))?$`)
	reStem = lazyregexp.New(`^(.*)\.(?:md|markdown|mdx|mdc|txt)$`)
)

// lookalikes maps letters to the letters of SKILL.md that they resemble.
var lookalikes = strings.NewReplacer("ѕ", "s", "к", "k", "і", "i", "ӏ", "l", "ⅼ", "l", "м", "m", "ԁ", "d", "\u212a", "k")

// IsMainFile reports whether a file name probably means SKILL.md. Examples are SKILLS.md,
// skill.md.txt, SKILL (1).md, SKIL.md, and names with look-alike letters. IsMainFile returns false
// for SKILL.md itself, in any case.
func IsMainFile(name string) bool {
	if !MayBeMainFile(name) || len(name) == len(mainFile) && strings.EqualFold(name, mainFile) {
		return false
	}
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 0xff01 && r <= 0xff5e: // full-width ASCII
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
		return name == "SKILL" || name == "SKILLS" // in lower case, the word has too many other meanings
	case reMainFile().MatchString(plain), plain == "skillmd":
		return true
	}
	m := reStem().FindStringSubmatch(plain)
	return m != nil && isSlip(m[1])
}

// IsDraft reports whether a name that resembles SKILL.md marks the file as inactive:
// SKILL-draft.md, SKILL.local.md.
func IsDraft(name string) bool { return reDraft().MatchString(name) }

// MayBeMainFile is a fast filter for [IsMainFile]. It looks at few letters, and returns false for
// most names that IsMainFile rejects.
func MayBeMainFile[T string | []byte](name T) bool {
	if len(name) < len("skil") || len(name) > maxLength {
		return false
	}
	first, second := name[0]|0x20, name[1]|0x20
	return first == 's' && (second == 'k' || second == 'i' || second == 'l' || second >= 0x80) ||
		first == 'k' && second == 's' || name[0] >= 0x80 || name[0] <= ' ' || (name[0] == '.' || name[0] == '_' || name[0] == '-') && second == 's' ||
		first == 'c' && second == 'o' && len(name) > 8 && name[4] == ' ' // Copy of SKILL.md
}

// isSlip reports whether a letter of "skill" is missing, doubled or transposed. A replaced letter
// does not count, because it may make a different word: still, spill.
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
