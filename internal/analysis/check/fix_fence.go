package check

import (
	"strings"

	"github.com/knack-dev/knack/skill/frontmatter"
)

// dropLeading returns the file without the lines before the line with this index, or nil unless all
// of them are blank. A byte-order mark stays.
func (j *judged) dropLeading(at int) []byte {
	for _, l := range j.lines[:at] {
		if strings.TrimSpace(strings.TrimPrefix(l.text, bom)) != "" {
			return nil
		}
	}
	keep := ""
	if strings.HasPrefix(j.text, bom) {
		keep = bom
	}
	return j.splice(0, at, keep)
}

// blockEnd returns the index of the first line after frontmatter that begins at from: the first
// blank line or heading. If fields follow that line, the end is unknown.
func (j *judged) blockEnd(from int) (int, bool) {
	end := len(j.lines)
	for i := from; i < len(j.lines); i++ {
		if t := strings.TrimSpace(j.lines[i].text); t == "" || strings.HasPrefix(t, "#") {
			end = i
			break
		}
	}
	for i := end; i < min(end+20, len(j.lines)); i++ {
		if reField().MatchString(j.lines[i].text) {
			return 0, false
		}
	}
	return end, end > from
}

// closer returns the index of the first line that can end frontmatter, beginning with the line
// from. Without such a line, it returns the number of lines.
func (j *judged) closer(from int) int {
	for i := from; i < len(j.lines); i++ {
		if strings.TrimRight(j.lines[i].text, " \t") == "---" {
			return i
		}
	}
	return len(j.lines)
}

// closable returns how certain it is that the lines [from,to) are exactly the frontmatter. A wrong
// fence would hide a part of the body from every reader. The result is Certain for fields of the
// specification that parse, each on one line or followed by lines that can only belong to it. It is
// Guess for other fields, and for a value that continues on a line that might begin another field.
// For any other lines closable returns None, since only the author can decide.
func (j *judged) closable(from, to int) Level {
	if from >= to || to < len(j.lines) && j.goesOn(to) || j.lines[to-1].offset() > maxFrontmatter {
		return None
	}
	for _, l := range j.lines[:from] {
		if t := strings.TrimSpace(strings.TrimPrefix(l.text, bom)); t != "" && t != "---" {
			return None
		}
	}
	level, owns := Certain, false
	var block strings.Builder
	for _, l := range j.lines[from:to] {
		text := l.text
		t := strings.TrimSpace(text)
		key, value, _ := strings.Cut(text, ":")
		value = strings.TrimSpace(value)
		switch {
		case reField().MatchString(text):
			owns = value == "" || strings.ContainsAny(value[:1], "|>") && reIndicator().MatchString(value)
			if !known[strings.TrimSpace(key)] {
				level = Guess // the line may be text, such as "Note: read this first"
			}
		case t == "":
			level = Guess
		case strings.Trim(t, "-*_=~`.#+—–―") == "":
			return None // it is a misspelt fence
		case text[0] == ' ' && owns:
		case text[0] == ' ', owns && strings.HasPrefix(t, "- "):
			level = Guess
		default:
			return None
		}
		block.WriteString(text + "\n")
	}
	doc := frontmatter.Parse([]byte("---\n" + block.String() + "---\n"))
	for _, p := range doc.Problems {
		if p.Rule != frontmatter.YAMLSyntax {
			continue
		}
		f, ok := doc.Field(p.Field)
		if !ok || f.Value.Text == "" || strings.ContainsAny(f.Value.Text[:1], "\"'[{") {
			return None // the value may end after the fence
		}
		level = Guess
	}
	return level
}

// goesOn reports whether the first line that is not blank, beginning with the line from, is
// indented. Such a line is the rest of a field.
func (j *judged) goesOn(from int) bool {
	for _, l := range j.lines[from:] {
		if t := strings.TrimSpace(l.text); t != "" {
			return l.text[0] == ' ' || l.text[0] == '\t'
		}
	}
	return false
}

// close returns the file with --- inserted before the line with this index.
func (j *judged) close(end int) []byte {
	if end == len(j.lines) && j.lines[end-1].end() == "" {
		return []byte(j.text + j.end(0) + "---")
	}
	return j.splice(end, end, "---"+j.end(end-1))
}
