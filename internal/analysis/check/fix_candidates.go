package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// The limits on a file that is fixed: the number of its problems, and the bytes of its frontmatter.
// They limit the work, since every fix is tried. The longest real frontmatter has 9.6 kB.
const (
	maxFixes       = 20
	maxFrontmatter = 16 << 10
)

// isLeftToAuthor reports whether a file exceeds these limits. No fix is tried then.
func isLeftToAuthor(problems []skill.Problem, doc *frontmatter.Document) bool {
	return len(problems) > maxFixes || len(doc.Fields) > 0 && doc.Body > maxFrontmatter
}

// The parts of suggestions that precede the line that a fix writes.
const (
	askQuotes = "put the value in quotes"
	askWhole  = "put the whole value in quotes, on one line"
)

// candidates returns the fixes to try, the most likely first. They need not be right, since
// [judged.better] decides whether to keep one.
func (j *judged) candidates(folder string) []candidate {
	var out []candidate
	if isLeftToAuthor(j.problems, j.doc) {
		return nil
	}
	var p skill.Problem
	try := func(rule skill.RuleID, line int, level Level, what, ask string, data []byte) {
		if data != nil && string(data) != j.text {
			out = append(out, candidate{rule: rule, line: line + 1, what: what, ask: ask, level: level, data: data, problem: p})
		}
	}
	for _, p = range j.problems {
		at := p.Position.Line - 1
		if at < 0 || at >= len(j.lines) {
			continue
		}
		switch p.Rule {
		case frontmatter.FenceLate:
			try(p.Rule, 0, Certain, "deleted the blank lines before the frontmatter", "delete the blank lines before the frontmatter", j.dropLeading(at))
		case frontmatter.FenceBlanks:
			try(p.Rule, at, Certain, "deleted the spaces after ---", "delete the spaces after ---", j.splice(at, at+1, strings.TrimRight(j.lines[at].text, " \t")+j.lines[at].end()))
		case frontmatter.FenceGlued:
			l := j.lines[at]
			try(p.Rule, at, Certain, "put the text after --- on the next line", "put the text after --- on the next line", j.splice(at, at+1, l.text[:3]+j.end(at)+l.text[3:]+l.end()))
		case frontmatter.FenceUnclosed:
			if end, ok := j.blockEnd(at + 1); ok {
				if level := j.closable(at+1, end); level != None {
					try(p.Rule, end, level, "closed the frontmatter with ---", fmt.Sprintf("write --- on a line of its own below line %d", end), j.close(end))
				}
			}
		case frontmatter.FenceOpener:
			if !strings.HasPrefix(j.lines[at].text, "name:") && !strings.HasPrefix(j.lines[at].text, "description:") {
				continue
			}
			if level := j.closable(at, j.closer(at)); level != None {
				try(p.Rule, at, level, "put --- before the frontmatter", "write --- on a line of its own before the frontmatter", j.splice(at, at, "---"+j.end(0)))
			} else if end, ok := j.blockEnd(at); ok {
				if level := j.closable(at, end); level != None {
					both := &judged{text: string(j.close(end))}
					both.lines = linesOf(both.text)
					try(p.Rule, at, level, "put --- before and after the frontmatter", "write --- on lines of their own before and after the frontmatter", both.splice(at, at, "---"+j.end(0)))
				}
			}
		case frontmatter.YAMLSyntax:
			if p.Field == "name" {
				continue // knack never guesses a name
			}
			j.syntaxFixes(p, at, func(level Level, what, ask string, data []byte) {
				try(p.Rule, at, level, what, ask, data)
			})
		case frontmatter.YAMLDuplicate:
			try(p.Rule, at, Certain, "deleted the second of two equal lines", "delete the second of the two equal lines", j.dropRepeated(at))
		case frontmatter.NameType, frontmatter.DescriptionType:
			try(p.Rule, at, Certain, "quoted the value of "+p.Field, askQuotes, j.quoteLine(at))
		case frontmatter.NameMissing, frontmatter.DescriptionMissing:
			if key, level, data := j.renameKey(p.Field); data != nil {
				try(p.Rule, at, level, "wrote the key "+p.Field, "write the key so", data)
				out[len(out)-1].from, out[len(out)-1].to = key, p.Field
				continue
			}
			if p.Rule != frontmatter.NameMissing {
				continue
			}
			has := slices.ContainsFunc(j.doc.Fields, func(f frontmatter.Field) bool { return strings.EqualFold(strings.TrimSpace(f.Key), "name") })
			if !has && skill.ValidName(folder) && len(j.doc.Fields) > 0 {
				first := j.doc.Fields[0].KeyPosition.Line - 1
				try(p.Rule, first, Guess, "added the folder's name", "add the line", j.splice(first, first, skill.Line(folder)+j.end(first)))
			}
		}
	}
	p = skill.Problem{}
	if data, ok := j.toolsFix(); ok {
		f, _ := j.doc.Field("allowed-tools")
		try(ruleAllowedTools, f.KeyPosition.Line-1, Certain, "separated the tools of allowed-tools by spaces", "write the tools in one line, separated by spaces", data)
	}
	return out
}

// renameKey returns the file with a misspelt key replaced by the name of the missing field, or nil.
// key is the misspelt key.
func (j *judged) renameKey(field string) (key string, level Level, data []byte) {
	f, certain, ok := j.doc.Meant(field)
	at := f.KeyPosition.Line - 1
	if _, there := j.doc.Field(field); !ok || there || at < 0 || at >= len(j.lines) {
		return "", None, nil
	}
	l := j.lines[at]
	i := l.index(f.KeyPosition.Column)
	rest, found := strings.CutPrefix(l.text[i:], f.Key)
	if !found {
		return "", None, nil // the key is in quotes, with escapes
	}
	level = Guess
	if certain {
		level = Certain
	}
	return f.Key, level, j.splice(at, at+1, l.text[:i]+field+rest+l.end())
}

var (
	reField = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.-]*[ \t]*:([ \t]|$)`)
	reEntry = lazyregexp.New(`^([ \t]*(?:-[ \t]+)*(?:[^\s"'#&*!|>%@,?:{}\[\]\x60-][^"'#:]*|"[^"\\]*"|'[^']*')[ \t]*:)([ \t]*)(.*)$`)
	reItem  = lazyregexp.New(`^([ \t]*-)([ \t]+)(.*)$`)
	reText  = lazyregexp.New(`^([>|][+-]?)[ \t]+([^#\s].*)$`)
	// reUnusualField matches a field whose key is in quotes, or whose colon has no space after it.
	reUnusualField = lazyregexp.New(`^("[^"\\]+"|'[^']+')[ \t]*:([ \t]|$)|^(name|description|license|compatibility|metadata|allowed-tools):`)
	// reIndicator matches everything that may follow the colon of a block scalar.
	reIndicator = lazyregexp.New(`^[>|][+-]?[0-9]?[+-]?$`)
	reNote      = lazyregexp.New(`[ \t]#`)
	reAnchor    = lazyregexp.New(`^&[^\s,\[\]{}]+`)
	reAlias     = lazyregexp.New(`^\*([^\s,\[\]{}]+)`)
)
