package search

import "bytes"

// stem cuts the endings of English words, so that the forms of a word become equal. It follows M.
// F. Porter, "An algorithm for suffix stripping", Program 14 (1980), with one of his later
// corrections. Beyond Porter, British spellings and some related forms become equal: "colour" and
// "color", "verify" and "verification". stem works in place and returns a part of w. The result
// need not be a word, and is never shown. A word with characters other than a-z is returned
// unchanged.
func stem(w []byte) []byte {
	if len(w) < 3 {
		return w
	}
	for _, c := range w {
		if c < 'a' || c > 'z' {
			return w
		}
	}
	w = stemPlural(w)
	w = stemPast(w)
	// Step 1c with Porter's later correction: "deploy" keeps its y.
	if n := len(w); bytes.HasSuffix(w, []byte("y")) && n > 1 && consonant(w, n-2) && hasVowel(w[:n-1]) {
		w[n-1] = 'i'
	}
	w = replaceFirst(w, 0, long)
	w = replaceFirst(w, 0, middle)
	w = replaceFirst(w, 1, short)
	return stemRoot(stemE(w))
}

// stemPlural is step 1a.
func stemPlural(w []byte) []byte {
	switch {
	case bytes.HasSuffix(w, []byte("sses")), bytes.HasSuffix(w, []byte("ies")):
		return w[:len(w)-2]
	case bytes.HasSuffix(w, []byte("ss")):
		return w
	case bytes.HasSuffix(w, []byte("s")):
		return w[:len(w)-1]
	}
	return w
}

// stemPast is step 1b.
func stemPast(w []byte) []byte {
	if bytes.HasSuffix(w, []byte("eed")) {
		if measure(w[:len(w)-3]) > 0 {
			return w[:len(w)-1]
		}
		return w
	}
	cut := 0
	switch {
	case bytes.HasSuffix(w, []byte("ed")):
		cut = 2
	case bytes.HasSuffix(w, []byte("ing")):
		cut = 3
	}
	if cut == 0 || !hasVowel(w[:len(w)-cut]) {
		return w
	}
	w = w[:len(w)-cut]
	n := len(w)
	switch {
	case bytes.HasSuffix(w, []byte("at")), bytes.HasSuffix(w, []byte("bl")), bytes.HasSuffix(w, []byte("iz")), bytes.HasSuffix(w, []byte("is")):
		return append(w, 'e')
	case n > 1 && w[n-1] == w[n-2] && consonant(w, n-1) && w[n-1] != 'l' && w[n-1] != 's' && w[n-1] != 'z':
		return w[:n-1]
	case measure(w) == 1 && endsShort(w):
		return append(w, 'e')
	}
	return w
}

// The endings of steps 2, 3 and 4. The longest ending that fits is replaced if enough letters
// precede it. The last line of each table was added to Porter's rules.
var (
	long = []ending{
		{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"}, {"abli", "able"}, {"alli", "al"},
		{"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"}, {"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"}, {"alism", "al"},
		{"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"},
		{"iser", "ise"}, {"isation", "ise"},
	}
	middle = []ending{
		{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
		{"alise", "al"},
	}
	short = []ending{
		{"al", ""}, {"ance", ""}, {"ence", ""}, {"er", ""}, {"ic", ""}, {"able", ""}, {"ible", ""}, {"ant", ""}, {"ement", ""}, {"ment", ""},
		{"ent", ""}, {"sion", "s"}, {"tion", "t"}, {"ou", ""}, {"ism", ""}, {"ate", ""}, {"iti", ""}, {"ous", ""}, {"ive", ""}, {"ize", ""},
		{"ise", ""}, {"eri", ""},
	}
	// roots was added to Porter's rules. It applies last, and only after a vowel.
	roots = []ending{
		{"iz", "is"}, {"alyz", "alys"}, {"alysi", "alys"}, {"ianc", "iant"}, {"our", "or"}, {"ogu", "og"}, {"script", "scrib"},
		{"ifi", "if"}, {"ari", "ar"}, {"logi", "log"}, {"graphi", "graph"},
	}
)

type ending struct{ from, to string }

func replaceFirst(w []byte, above int, endings []ending) []byte {
	var best ending
	for _, e := range endings {
		if len(e.from) > len(best.from) && len(e.from) <= len(w) && string(w[len(w)-len(e.from):]) == e.from {
			best = e
		}
	}
	before := len(w) - len(best.from)
	stays := before
	if best.from == "sion" || best.from == "tion" {
		stays++ // the rule removes only "ion", after s or t
	}
	if best.from == "" || measure(w[:stays]) <= above {
		return w
	}
	return append(w[:before], best.to...)
}

// stemE is step 5.
func stemE(w []byte) []byte {
	n := len(w)
	if n > 0 && w[n-1] == 'e' {
		if m := measure(w[:n-1]); m > 1 || m == 1 && !endsShort(w[:n-1]) {
			w = w[:n-1]
		}
	}
	if n = len(w); n > 1 && w[n-1] == 'l' && w[n-2] == 'l' && measure(w[:n-1]) > 1 {
		w = w[:n-1]
	}
	return w
}

// stemRoot replaces an ending that is in roots.
func stemRoot(w []byte) []byte {
	for _, e := range roots {
		if n := len(w) - len(e.from); n > 0 && string(w[n:]) == e.from && hasVowel(w[:n]) {
			return append(w[:n], e.to...)
		}
	}
	return w
}

func consonant(w []byte, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !consonant(w, i-1)
	}
	return true
}

func hasVowel(w []byte) bool {
	for i := range w {
		if !consonant(w, i) {
			return true
		}
	}
	return false
}

// measure counts the changes from a vowel to a consonant.
func measure(w []byte) int {
	n, vowel := 0, false
	for i, c := range w {
		now := c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || c == 'y' && i > 0 && !vowel
		if vowel && !now {
			n++
		}
		vowel = now
	}
	return n
}

// endsShort reports whether a word ends with consonant, vowel and consonant, the last not w, x or
// y.
func endsShort(w []byte) bool {
	n := len(w)
	return n > 2 && consonant(w, n-1) && !consonant(w, n-2) && consonant(w, n-3) && w[n-1] != 'w' && w[n-1] != 'x' && w[n-1] != 'y'
}
