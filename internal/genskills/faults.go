package genskills

import (
	"math/rand/v2"
	"strings"
)

// matter is a frontmatter on its way to be written.
type matter struct {
	name, description string
	more              []string // further fields
	close             string
	none              bool // no frontmatter at all
	noName, noDesc    bool
	wrapWith          func(string) string
}

func (m *matter) String() string {
	if m.none {
		return ""
	}
	var b strings.Builder
	b.WriteString("---\n")
	if !m.noName {
		b.WriteString("name: " + m.name + "\n")
	}
	if !m.noDesc {
		b.WriteString("description: " + m.description + "\n")
	}
	for _, l := range m.more {
		b.WriteString(l + "\n")
	}
	return b.String() + m.close
}

func (m *matter) wrap(s string) string {
	if m.wrapWith == nil {
		return s
	}
	return m.wrapWith(s)
}

// faults are those of real skills, by how many of 40,217 authored ones had each.
var faults = []weighted{
	{"colon", 54}, {"block-text", 10}, {"star", 9}, {"inner-quotes", 5}, {"nesting", 5}, {"flow", 4}, {"unindented", 2},
	{"reserved", 1}, {"duplicate", 1}, {"no-frontmatter", 30}, {"unclosed", 2}, {"glued", 4}, {"no-description", 7},
	{"empty-description", 3}, {"no-name", 9}, {"upper-case", 40}, {"other-folder", 60}, {"long-description", 2}, {"long-name", 4},
	{"bom", 1}, {"crlf", 4}, {"lower-case-file", 4}, {"fence", 1}, {"empty", 1},
}

// spoil gives a skill the fault it was drawn to have.
func (m *matter) spoil(r *rand.Rand, s *Skill, f *File) {
	plain := strings.Trim(m.description, `"`)
	switch s.Fault {
	case "colon":
		m.description = strings.TrimSuffix(plain, ".") + " when: the user asks. Triggers: " + joined(r, 4, " ")
	case "block-text":
		m.description = [...]string{"> ", "| ", ">- "}[r.IntN(3)] + plain
	case "star":
		m.description = "**" + word(r) + "** " + plain
	case "inner-quotes":
		m.description = `"` + word(r) + `" and "` + word(r) + `" ` + plain
	case "nesting":
		m.more = append(m.more, "summary:\n  - \"a\" b: c\n   - d")
	case "flow":
		m.more = append(m.more, "argument-hint: [file] [--"+word(r)+" <x>]")
	case "unindented":
		m.description = clip(plain, 40) + "\n" + plain[min(40, len(plain)):]
	case "reserved":
		m.description = "@" + plain
	case "duplicate":
		m.more = append(m.more, "edition: 1", "edition: 2")
	case "no-frontmatter":
		m.none = true
	case "unclosed":
		m.close = ""
	case "glued":
		m.close = "---# Title\n"
	case "no-description":
		m.noDesc = true
	case "empty-description":
		m.description = `""`
	case "no-name":
		m.noName = true
	case "upper-case":
		m.name = strings.ToUpper(m.name[:1]) + strings.ReplaceAll(m.name[1:], "-", " ")
		s.Name = m.name
	case "other-folder":
		m.name += "-x"
		s.Name = m.name
	case "long-description":
		m.description = sentence(r, 1500)
	case "long-name":
		m.name = strings.TrimRight(clip(m.name+"-"+joined(r, 14, "-"), 90), "-")
		s.Name = m.name
	case "lower-case-file":
		f.Path = "skill.md"
	case "bom":
		m.wrapWith = func(s string) string { return "\xef\xbb\xbf" + s }
	case "crlf":
		m.wrapWith = func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	case "fence":
		m.wrapWith = func(s string) string { return "```markdown\n" + s + "\n```\n" }
	case "empty":
		m.wrapWith = func(string) string { return "" }
	}
}
