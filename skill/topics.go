package skill

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// tagKeys lists the fields in which authors name a skill's topics. The specification has no such
// field. Real skills have these at the top level or under metadata, as a list or separated by
// commas.
var tagKeys = []string{"tags", "keywords", "category", "categories"}

// Tags returns the author's keywords of the skill, in the order of tagKeys.
func (s *Skill) Tags() (tags []string) {
	for _, k := range tagKeys {
		if bytes.Contains(s.Frontmatter, []byte(`"`+k+`"`)) {
			return s.readTags()
		}
	}
	return nil
}

func (s *Skill) readTags() (tags []string) {
	var rootDir map[string]json.RawMessage
	if json.Unmarshal(s.Frontmatter, &rootDir) != nil {
		return nil
	}
	var below map[string]json.RawMessage
	_ = json.Unmarshal(rootDir["metadata"], &below) // metadata that is not a mapping has no tags
	for _, fields := range []map[string]json.RawMessage{rootDir, below} {
		for _, k := range tagKeys {
			var one string
			var many []json.RawMessage
			switch {
			case fields[k] == nil:
			case json.Unmarshal(fields[k], &one) == nil:
				tags = appendTags(tags, one)
			case json.Unmarshal(fields[k], &many) == nil:
				for _, item := range many {
					if json.Unmarshal(item, &one) == nil {
						tags = appendTags(tags, one)
					}
				}
			}
		}
	}
	return tags
}

func appendTags(tags []string, text string) []string {
	for tag := range strings.SplitSeq(text, ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

// Headings returns at most n headings of a SKILL.md's text, without their marks. Lines in
// code fences do not count. Headings underlined with = or - are ignored; hardly any skill
// has one.
func Headings(data []byte, n int) []string {
	var room [64]string // more headings than most skills have
	headings := room[:0]
	prose(data, func(text string) bool {
		if !strings.HasPrefix(text, "#") {
			return true
		}
		rest := strings.TrimLeft(text, "#")
		if title := title(rest); len(text)-len(rest) <= 6 && title != "" {
			headings = append(headings, title)
		}
		return len(headings) < n
	})
	return copyTogether(headings[:min(len(headings), max(n, 0))])
}

// Beginning returns the first lines of a SKILL.md's text, about n bytes of them, as one line.
// Headings, tables, HTML and code do not count.
func Beginning(data []byte, n int) string {
	var room [1 << 10]byte
	b := room[:0]
	prose(data, func(text string) bool {
		if text != "" && strings.IndexByte("#|<`~", text[0]) < 0 {
			b = append(append(b, text[:min(len(text), n)]...), ' ')
		}
		return len(b) < n
	})
	return string(b)
}

// prose calls visit with the lines of a SKILL.md's text that are not code, without white space
// around them, until visit returns false. It is not an iterator, so that the variables of visit can
// stay on the stack.
func prose(data []byte, visit func(text string) bool) {
	s := display.TextOf(data)
	if _, body, ok := frontmatter.Cut(data); ok {
		s = display.TextOf(body)
	}
	fence := ""
	for line := range strings.Lines(s) {
		text := strings.TrimLeft(line, " ")
		if len(line)-len(text) > 3 {
			continue // indented code
		}
		text = strings.TrimRight(text, " \t\r\n")
		mark := text[:len(text)-len(strings.TrimLeft(text, "`~"))]
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) && mark == text {
				fence = ""
			}
		case len(mark) >= 3 && strings.Count(mark, mark[:1]) == len(mark) && !(mark[0] == '`' && strings.Contains(text[len(mark):], "`")):
			fence = mark
		case !visit(text):
			return
		}
	}
}

// copyTogether copies texts into one allocation. They are parts of a longer text, which can then be
// freed.
func copyTogether(texts []string) []string {
	if len(texts) == 0 {
		return nil
	}
	n := 0
	for _, t := range texts {
		n += len(t)
	}
	all := make([]byte, 0, n)
	copies := make([]string, len(texts))
	for i, t := range texts {
		all = append(all, t...)
		copies[i] = display.TextOf(all[len(all)-len(t):])
	}
	return copies
}

// title returns the text of a heading without opening and closing marks. It is empty if the
// marks do not open a heading.
func title(s string) string {
	if s == "" || s[0] != ' ' && s[0] != '\t' {
		return ""
	}
	bare := strings.TrimRight(s, "#")
	if last := bare[len(bare)-1]; last == ' ' || last == '\t' {
		s = bare
	}
	return strings.TrimSpace(s)
}
