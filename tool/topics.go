package tool

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
)

// longestTelling is the longest name or topic, in characters, in the first lines of the
// instructions.
const longestTelling = 40

// fewNames is the share of all skills, one in so many, that must be named to be worth the
// room: five names out of a thousand say less than five topics.
const fewNames = 10

// sampled is the number of names of a large library that its topics are taken from, evenly.
// They have the same frequent topics as 100,000 names, in 1 ms in place of 100.
const sampled = 2000

// telling says in at most n characters which skills there are, to go on with after their
// number: ": a, b." if all names fit, else as many as fit beside the topics of the others.
// told are the names in it. more is the tool that finds the others, "" for none.
func telling(skills []*catalog.Entry, n int, more string) (text string, told []string) {
	const least = len("a, ")
	if n/least*fewNames < len(skills) { // whichever names fit, they are too few
		return sketchOf(skills, n, more).text()
	}
	s := sketchOf(skills, n, more)
	used, long := 0, false
	for i := range s.names {
		s.left[i] = false
		used += s.length[i] + len(", ")
		long = long || isUntelling(s.names[i])
	}
	if text := sentence(s.names, nil, more); used <= n && !long && length(text) <= n {
		return text, s.names
	}
	// Names are removed until the rest fits, with the topics of the removed ones, which may
	// be cut to half of the room.
	order := s.leaving(skills)
	next := 0
	for ; next < len(order); next++ {
		i := order[next]
		if used <= n && !isUntelling(s.names[i]) && s.fits() {
			break
		}
		used -= s.length[i] + len(", ")
		s.left[i] = true
	}
	if (len(order)-next)*fewNames < len(order) {
		for i := range s.left {
			s.left[i] = true
		}
		return s.text()
	}
	// The cut may have left room for one more name.
	text, told = s.text()
	for _, i := range slices.Backward(order[:next]) {
		if isUntelling(s.names[i]) || length(text)+s.length[i]+len(", ") > n {
			continue
		}
		s.left[i] = false
		if with, names := s.text(); length(with) <= n {
			text, told = with, names
		} else {
			s.left[i] = true
		}
	}
	return text, told
}

// sketch is a list of names, some of which are replaced by their topics.
type sketch struct {
	names  []string
	length []int      // of each name, in characters
	words  [][]string // of each name, those that it may have as its topic
	left   []bool
	room   int // in characters
	more   string
}

// sketchOf returns a sketch with all names replaced; for a large library, with a sample of
// them.
func sketchOf(skills []*catalog.Entry, room int, more string) *sketch {
	count := min(len(skills), sampled)
	s := &sketch{names: make([]string, count), length: make([]int, count), words: make([][]string, count), left: make([]bool, count), room: room, more: more}
	for i := range count {
		name := display.OneLine(skills[i*len(skills)/count].Name)
		s.names[i], s.length[i], s.words[i], s.left[i] = name, length(name), topicWords(name), true
	}
	return s
}

// stay returns the remaining names.
func (s *sketch) stay() (names []string) {
	for i, name := range s.names {
		if !s.left[i] {
			names = append(names, name)
		}
	}
	return names
}

func (s *sketch) fits() bool {
	stay := s.stay()
	if length(sentence(stay, nil, s.more)) <= s.room/2 {
		return true
	}
	topics, _ := s.topics()
	return length(sentence(stay, topics, s.more)) <= s.room
}

// text says the names that stay, and as many topics of the others as there is room for.
func (s *sketch) text() (text string, told []string) {
	stay := s.stay()
	topics, needed := s.topics()
	most := 0
	for used := 0; most < len(topics) && used <= s.room; most++ {
		used += length(topics[most]) + len(", ")
	}
	for count := most; count > 0; count-- {
		some := topics[:count:count]
		if count < needed {
			some = append(some, ellipsis)
		}
		if text := sentence(stay, some, s.more); length(text) <= s.room {
			return text, stay
		}
	}
	for ; len(stay) > 0; stay = stay[:len(stay)-1] {
		if text := sentence(append(slices.Clip(stay), ellipsis), nil, s.more); length(text) <= s.room {
			return text, stay
		}
	}
	return "", nil
}

// topics are the words that stand for the names that have left, the words of most names
// first. The first needed ones cover every name. Of words that always come together the
// last one stands for all, such as "storage" for "blob-storage".
func (s *sketch) topics() (topics []string, needed int) {
	in := map[string][]int{} // word → the names that have it
	for i, words := range s.words {
		for _, w := range words {
			if s.left[i] {
				in[w] = append(in[w], i)
			}
		}
	}
	stands := map[string]bool{}
	for i, words := range s.words {
		best := ""
		for _, w := range words {
			if s.left[i] && len(in[w]) >= len(in[best]) {
				best = w
			}
		}
		stands[best] = best != ""
	}
	for w, names := range in {
		same := func(o string) bool { return o != w && stands[o] && slices.Equal(in[o], names) }
		if stands[w] || len(names) > 1 && !slices.ContainsFunc(s.words[names[0]], same) {
			topics = append(topics, w)
		}
	}
	slices.SortFunc(topics, func(a, b string) int {
		return cmp.Or(len(in[b])-len(in[a]), in[a][0]-in[b][0], strings.Compare(a, b))
	})
	for i, w := range topics {
		if stands[w] {
			needed = i + 1
		}
	}
	return topics, needed
}

// sentence names skills and topics, to go on with after their number.
func sentence(names, topics []string, more string) (s string) {
	if len(names) > 0 {
		s = ": " + listed(names)
	}
	switch {
	case len(topics) == 0:
		return s
	case len(names) == 0:
		s = ". Topics"
	default:
		s += " Others"
	}
	if more != "" {
		s += ", with " + more
	} else if len(names) > 0 {
		s += ", on"
	}
	return s + ": " + listed(topics)
}

// listed joins words to the end of a sentence, which an ellipsis ends as well as a full
// stop.
func listed(words []string) string {
	s := strings.Join(words, ", ")
	if strings.HasSuffix(s, ellipsis) {
		return s
	}
	return s + "."
}

// isUntelling reports whether a name is too long for the first lines.
func isUntelling(name string) bool { return utf8.RuneCountInString(name) > longestTelling }

// leaving returns the order in which names are replaced: too long ones, then the built-in
// skills', the user's, the project's, and of each the longest first, since a topic says as
// much as a long name.
func (s *sketch) leaving(skills []*catalog.Entry) []int {
	order := make([]int, len(skills))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if long := isUntelling(s.names[a]); long != isUntelling(s.names[b]) {
			if long {
				return -1
			}
			return 1
		}
		return cmp.Or(rank(skills[b])-rank(skills[a]), s.length[b]-s.length[a])
	})
	return order
}

// rank orders skills by owner: the project, the user, knack.
func rank(e *catalog.Entry) int {
	switch e.Root.Scope {
	case skill.ScopeProject:
		return 0
	case skill.ScopeGlobal:
		return 1
	}
	return 2
}

// topicWords returns the words of a name that describe its topic, each once.
func topicWords(name string) (words []string) {
	for w := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }) {
		if !aboutNothing[w] && !isUntelling(w) && !slices.Contains(words, w) && strings.ContainsFunc(w, unicode.IsLetter) {
			words = append(words, w)
		}
	}
	return words
}

// aboutNothing lists words of names that describe a kind of thing and not a topic. They
// were picked from the most frequent words of 776 real names.
var aboutNothing = wordSet(`a advanced agent agents an and api app apps assistant basic basics best build builder
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
