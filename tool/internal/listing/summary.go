package listing

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// longestName is the longest name or topic, in characters, in the first lines of the instructions.
const longestName = 40

// fewNames decides between names and topics. Topics are listed if fewer than one in fewNames names
// would fit, because five topics tell more than five names out of a thousand.
const fewNames = 10

// sampled is the number of names, evenly spaced, from which the topics of a large library are
// derived. The sample has the same frequent topics as 100,000 names, and takes 1 ms instead of 100.
const sampled = 2000

// Summary describes the skills in at most n characters. The text continues a sentence that ends in
// the number of skills. It is ": a, b." if all names fit. Otherwise it contains as many names as
// fit, and the topics of the other skills. named lists the names in the text. search is the tool
// that finds the others, or "".
func Summary(skills []*catalog.Entry, n int, search string) (text string, named []string) {
	const shortest = len("a, ")
	s := summaryOf(skills, n, search)
	if n/shortest*fewNames < len(skills) { // too few names would fit
		return s.text()
	}
	used, long := 0, false
	for i := range s.names {
		s.replaced[i] = false
		used += s.length[i] + len(", ")
		long = long || isTooLong(s.names[i])
	}
	if text := sentence(s.names, nil, search); used <= n && !long && display.Length(text) <= n {
		return text, s.names
	}
	// Replace names by topics until the rest fits. The topics may be cut to half of the room.
	order := s.order(skills)
	next := 0
	for ; next < len(order); next++ {
		i := order[next]
		if used <= n && !isTooLong(s.names[i]) && s.fits() {
			break
		}
		used -= s.length[i] + len(", ")
		s.replaced[i] = true
	}
	if (len(order)-next)*fewNames < len(order) {
		for i := range s.replaced {
			s.replaced[i] = true
		}
		return s.text()
	}
	// Cutting topics may have left room for further names.
	text, named = s.text()
	for _, i := range slices.Backward(order[:next]) {
		if isTooLong(s.names[i]) || display.Length(text)+s.length[i]+len(", ") > n {
			continue
		}
		s.replaced[i] = false
		if with, names := s.text(); display.Length(with) <= n {
			text, named = with, names
		} else {
			s.replaced[i] = true
		}
	}
	return text, named
}

// Head is like [Summary], but order determines which names it prefers. order contains the indexes
// of the skills, the most relevant first. If not all names fit, names take up to half of the room,
// and the topics of the other skills take the rest.
func Head(skills []*catalog.Entry, order []int, n int, search string) (text string, named []string) {
	var some []int
	for at, taken := 0, 0; at < len(order) && taken <= n; at++ {
		name := display.OneLine(skills[order[at]].Name)
		if taken += display.Length(name) + len(", "); taken <= n && !isTooLong(name) {
			some = append(some, order[at])
		}
	}
	names := func() (names []string) {
		for _, i := range slices.Sorted(slices.Values(some)) {
			names = append(names, display.OneLine(skills[i].Name))
		}
		return names
	}
	if text := sentence(names(), nil, search); len(some) == len(skills) && display.Length(text) <= n {
		return text, names()
	}
	for len(some) > 0 && display.Length(sentence(names(), nil, search)) > n/2 {
		some = some[:len(some)-1]
	}
	named = names()
	isNamed := make([]bool, len(skills))
	for _, i := range some {
		isNamed[i] = true
	}
	var others []*catalog.Entry
	for i, e := range skills {
		if !isNamed[i] {
			others = append(others, e)
		}
	}
	topics, needed := summaryOf(others, n, search).topics()
	for count := min(len(topics), n/len("a, ")); count > 0; count-- {
		some := topics[:count:count]
		if count < needed {
			some = append(some, display.Ellipsis)
		}
		if text := sentence(named, some, search); display.Length(text) <= n {
			return text, named
		}
	}
	if len(named) == 0 {
		return "", nil
	}
	return sentence(append(slices.Clip(named), display.Ellipsis), nil, search), named
}

// summary is a list of names, some of which are replaced by their topics.
type summary struct {
	names    []string
	length   []int    // by name, in characters
	all      []string // possible topics
	words    [][]int  // by name, its possible topics as indexes of all
	replaced []bool
	limit    int // in characters
	search   string
	in       [][]int // by word, the replaced names that contain it; see topics
}

// summaryOf returns a summary in which all names are replaced by topics. For a large library, it
// uses only a sample of the names.
func summaryOf(skills []*catalog.Entry, limit int, search string) *summary {
	count := min(len(skills), sampled)
	s := &summary{names: make([]string, count), length: make([]int, count), words: make([][]int, count), replaced: make([]bool, count), limit: limit, search: search}
	indexes, end := make([]int, 0, 3*count), make([]int, count) // the words of all names, and the end of each name's words
	index := make(map[string]int, count)
	var words []string
	for i := range count {
		name := display.OneLine(skills[i*len(skills)/count].Name)
		s.names[i], s.length[i], s.replaced[i] = name, display.Length(name), true
		words = appendTopicWords(words[:0], name)
		for _, w := range words {
			at, known := index[w]
			if !known {
				at = len(s.all)
				index[w], s.all = at, append(s.all, w)
			}
			indexes = append(indexes, at)
		}
		end[i] = len(indexes)
	}
	s.in = make([][]int, len(s.all))
	begin := 0
	for i := range count {
		s.words[i], begin = indexes[begin:end[i]], end[i]
	}
	return s
}

// remaining returns the names that are not replaced.
func (s *summary) remaining() (names []string) {
	for i, name := range s.names {
		if !s.replaced[i] {
			names = append(names, name)
		}
	}
	return names
}

// fits reports whether the remaining names fit, with at least half of the room left for topics if
// not all names fit.
func (s *summary) fits() bool {
	names := s.remaining()
	if display.Length(sentence(names, nil, s.search)) <= s.limit/2 {
		return true
	}
	topics, _ := s.topics()
	return display.Length(sentence(names, topics, s.search)) <= s.limit
}

// text returns the remaining names, and as many topics of the replaced names as fit.
func (s *summary) text() (text string, named []string) {
	names := s.remaining()
	topics, needed := s.topics()
	most := 0
	for used := 0; most < len(topics) && used <= s.limit; most++ {
		used += display.Length(topics[most]) + len(", ")
	}
	for count := most; count > 0; count-- {
		some := topics[:count:count]
		if count < needed {
			some = append(some, display.Ellipsis)
		}
		if text := sentence(names, some, s.search); display.Length(text) <= s.limit {
			return text, names
		}
	}
	for ; len(names) > 0; names = names[:len(names)-1] {
		if text := sentence(append(slices.Clip(names), display.Ellipsis), nil, s.search); display.Length(text) <= s.limit {
			return text, names
		}
	}
	return "", nil
}

// topics returns the words that represent the replaced names, most frequent first. The first needed
// words cover every name. If words always occur together, only the last one is returned: "storage"
// for "blob-storage".
func (s *summary) topics() (topics []string, needed int) {
	in := s.in // reused between calls, since it is large
	for w, names := range in {
		in[w] = names[:0]
	}
	for i, words := range s.words {
		for _, w := range words {
			if s.replaced[i] {
				in[w] = append(in[w], i)
			}
		}
	}
	represents := make([]bool, len(in))
	for i, words := range s.words {
		if !s.replaced[i] || len(words) == 0 {
			continue
		}
		best := words[0]
		for _, w := range words {
			if len(in[w]) >= len(in[best]) {
				best = w
			}
		}
		represents[best] = true
	}
	var order []int
	for w, names := range in {
		if len(names) == 0 {
			continue
		}
		same := func(o int) bool { return o != w && represents[o] && slices.Equal(in[o], names) }
		if represents[w] || len(names) > 1 && !slices.ContainsFunc(s.words[names[0]], same) {
			order = append(order, w)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		if order := cmp.Or(len(in[b])-len(in[a]), in[a][0]-in[b][0]); order != 0 {
			return order
		}
		return strings.Compare(s.all[a], s.all[b])
	})
	topics = make([]string, len(order))
	for i, w := range order {
		topics[i] = s.all[w]
		if represents[w] {
			needed = i + 1
		}
	}
	return topics, needed
}

// sentence returns names and topics as the end of a sentence that begins with the number of skills.
func sentence(names, topics []string, search string) (s string) {
	if len(names) > 0 {
		s = ": " + sentenceEnd(names)
	}
	switch {
	case len(topics) == 0:
		return s
	case len(names) == 0:
		s = ". Topics"
	default:
		s += " Others"
	}
	if search != "" {
		s += ", with " + search
	} else if len(names) > 0 {
		s += ", on"
	}
	return s + ": " + sentenceEnd(topics)
}

// sentenceEnd joins words as the end of a sentence. It adds no full stop after an ellipsis.
func sentenceEnd(words []string) string {
	s := strings.Join(words, ", ")
	if strings.HasSuffix(s, display.Ellipsis) {
		return s
	}
	return s + "."
}

// isTooLong reports whether a name is too long for the first lines.
func isTooLong(name string) bool { return utf8.RuneCountInString(name) > longestName }

// order returns the order in which names are replaced. Names that are too long come first, then the
// names of built-in skills, the user's and the project's. Within each group the longest names come
// first, because a topic tells as much as a long name.
func (s *summary) order(skills []*catalog.Entry) []int {
	order := make([]int, len(skills))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if long := isTooLong(s.names[a]); long != isTooLong(s.names[b]) {
			if long {
				return -1
			}
			return 1
		}
		return cmp.Or(rank(skills[b])-rank(skills[a]), s.length[b]-s.length[a])
	})
	return order
}

// ByOwner returns the project's skills first, then the user's, then the built-in ones.
func ByOwner(skills []*catalog.Entry) []*catalog.Entry {
	byRank := func(a, b *catalog.Entry) int { return rank(a) - rank(b) }
	if !slices.IsSortedFunc(skills, byRank) {
		skills = slices.Clone(skills)
		slices.SortStableFunc(skills, byRank)
	}
	return skills
}

// rank orders skills by owner.
func rank(e *catalog.Entry) int {
	switch e.Root.Scope {
	case skill.ScopeProject:
		return 0
	case skill.ScopeGlobal:
		return 1
	}
	return 2
}

// appendTopicWords appends the words of a name that describe its topic, each once.
func appendTopicWords(words []string, name string) []string {
	begin := len(words)
	for w := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }) {
		if !generic[w] && !isTooLong(w) && !slices.Contains(words[begin:], w) && strings.ContainsFunc(w, unicode.IsLetter) {
			words = append(words, w)
		}
	}
	return words
}

// generic lists words of names that describe a kind of thing and not a topic. They
// were picked from the most frequent words of 776 real names.
var generic = wordSet(`a advanced agent agents an and api app apps assistant basic basics best build builder
	building by cli code common core create creating creator custom dev develop developing development engineer
	expert factory for framework from general generation generator get getting guide guidelines help helper how
	implementation implementing in integration into introduction js main maker management manager my new of on or
	patterns practices pro process py sdk setup skill skills specialist standards started template templates the to
	tool toolkit tools ts tutorial use using utils with workflow workflows write writer writing`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}
