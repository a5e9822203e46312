package genskills

import (
	"fmt"
	"path"
	"strings"
)

// main returns a SKILL.md of a realistic size with links to the other files. It applies the fault
// of the skill.
func (g maker) main(s Skill, other []File, o Options) []byte {
	name, description := s.Name, s.Description
	if g.Float64() < 0.4 {
		description = fmt.Sprintf("%q", description)
	}
	fields := g.fields(o.Faults == 0)
	switch s.Fault {
	case "empty":
		return nil
	case "colon":
		description = s.Description + " When: " + g.sentence("", 30)
	case "block-text":
		description = []string{"> ", "| ", ">- "}[g.IntN(3)] + s.Description
	case "star":
		description = "**" + g.word() + "** " + s.Description
	case "inner-quote":
		description = fmt.Sprintf("%q and %q %s", g.word(), g.word(), s.Description)
	case "nested":
		fields = append(fields, "summary:\n  - \"a\" b: c\n   - d")
	case "flow":
		fields = append(fields, "argument-hint: [file] [--"+g.word()+" <x>]")
	case "unindented":
		half := len(s.Description) / 2
		description = s.Description[:half] + "\n" + strings.TrimSpace(s.Description[half:])
	case "reserved":
		description = "@" + s.Description
	case "duplicate-key":
		fields = append(fields, "version: 1", "version: 2")
	case "upper-case":
		name = strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "-", " ")
	case "other-folder":
		name += "-x"
	case "long-description":
		description = g.sentence("", 1500)
	case "long-name":
		name = (name + strings.Repeat("-"+trade[g.IntN(len(trade))], 20))[:90]
		name = strings.TrimRight(name, "-")
	case "empty-description":
		description = `""`
	}
	if s.Fault != "no-description" {
		fields = append([]string{"description: " + description}, fields...)
	}
	if s.Fault != "no-name" {
		fields = append([]string{"name: " + name}, fields...)
	}
	return g.assemble(s.Fault, fields, s.Name, other, o.MaxBytes)
}

func (g maker) assemble(fault string, fields []string, name string, other []File, most int) []byte {
	front := "---\n" + strings.Join(fields, "\n") + "\n"
	switch fault {
	case "no-frontmatter":
		front = ""
	case "unclosed":
	case "glued-closer":
		front += "---# Title\n"
	default:
		front += "---\n"
	}
	body := "\n# " + name + "\n\n" + g.links(other)
	size := min(max(g.size(mainBytes), 250), most)
	text := front + body + g.prose(max(size-len(front)-len(body), 0))
	switch fault {
	case "code-fence":
		text = "```markdown\n" + text + "\n```\n"
	case "crlf":
		text = strings.ReplaceAll(text, "\n", "\r\n")
	case "byte-order-mark":
		text = "\ufeff" + text
	}
	return []byte(text)
}

// links returns links to some of the other files. In 6 of 100 skills, one link is broken.
func (g maker) links(other []File) string {
	var b strings.Builder
	for _, f := range other[:min(len(other), 6)] {
		if g.Float64() < 0.6 {
			fmt.Fprintf(&b, "See [%s](%s).\n", path.Base(f.Path), f.Path)
		}
	}
	if g.Float64() < 0.06 {
		b.WriteString("See [guide](references/missing-guide.md).\n")
	}
	return b.String()
}

// fields returns fields other than name and description, with the frequency that they have in real
// skills. Half of the real skills with metadata have values in it that are not strings, which the
// specification does not allow.
func (g maker) fields(faultless bool) (fields []string) {
	for _, f := range []struct {
		share float64
		text  func() string
	}{
		{.31, func() string { return fmt.Sprintf("version: %d.%d.%d", g.IntN(4), g.IntN(10), g.IntN(10)) }},
		{.30, func() string {
			return "license: " + []string{"MIT", "Apache-2.0", "Proprietary. See LICENSE.txt"}[g.IntN(3)]
		}},
		{.28, func() string { return "author: " + g.word() + "-org" }},
		{.21, func() string {
			return "allowed-tools: " + []string{"Read, Write, Bash(git:*), Grep", "Read Write", `"Bash(git log:*, git diff:*), Read"`, "\n  - Read\n  - Bash"}[g.IntN(4)]
		}},
		{.21, func() string { return fmt.Sprintf("tags: [%s, %s, %s, %s]", g.tag(), g.tag(), g.tag(), g.tag()) }},
		{.15, func() string {
			text := fmt.Sprintf("metadata:\n  author: %s\n  version: \"%d.0\"", g.tag(), 1+g.IntN(4))
			if g.Float64() < 0.5 && !faultless {
				text += fmt.Sprintf("\n  nested: {\"requires\": {\"bins\": [%q]}}", g.tag())
			}
			return text
		}},
		{.08, func() string { return "compatibility: Requires " + g.tag() + " and network access" }},
	} {
		if g.Float64() < f.share {
			fields = append(fields, f.text())
		}
	}
	return fields
}

func (g maker) tag() string { return trade[g.IntN(len(trade))] }
