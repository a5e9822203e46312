package markdown

import (
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/commands"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// isEntry reports whether a file is a skill's main file.
func isEntry(file string) bool {
	if n := strings.LastIndexByte(file, '!'); n >= 0 {
		file = file[n+1:]
	}
	return skill.IsEntryName(path.Base(file))
}

// frontmatter judges the fields of a main file, and the comments in the frontmatter of any file.
func (m *page) frontmatter(p passage.Part, body int) {
	m.yamlComments(p.Slice(0, body))
	if !isEntry(p.File.Path) {
		return
	}
	doc := frontmatter.Parse([]byte(p.Text))
	m.fields(p, doc.Fields)
	if f, ok := doc.Field("allowed-tools"); ok {
		for _, tool := range toolsOf(f.Value) {
			m.Fact(passage.FactTool, tool)
		}
	}
	if f, ok := doc.Field("hooks"); ok && (len(f.Value.Fields) > 0 || len(f.Value.Items) > 0) {
		from := p.File.Offset(f.KeyPosition)
		m.Find(passage.Hooks, p, from, from+len("hooks"), "the frontmatter has hooks: "+secrets.Quote(strings.Join(keys(f.Value.Fields), ", ")))
		m.hookCommands(p, f.Value)
	}
}

// fields judges the texts of frontmatter fields, since models read them too.
func (m *page) fields(p passage.Part, all []frontmatter.Field) {
	var texts func(v frontmatter.Value)
	texts = func(v frontmatter.Value) {
		m.fields(p, v.Fields)
		for _, item := range v.Items {
			texts(item)
		}
		if v.Kind == frontmatter.String {
			m.phrases(valueOf(p, v))
			m.addresses(valueOf(p, v))
		}
	}
	for _, f := range all {
		texts(f.Value)
	}
}

// hookCommands judges the commands of hooks.
func (m *page) hookCommands(p passage.Part, v frontmatter.Value) {
	for _, item := range v.Items {
		m.hookCommands(p, item)
	}
	for _, f := range v.Fields {
		if f.Key != "command" || f.Value.Kind != frontmatter.String {
			m.hookCommands(p, f.Value)
			continue
		}
		m.commands.Shell(valueOf(p, f.Value), commands.String)
	}
}

// valueOf returns a text of the frontmatter as a part. If the file contains the text unchanged, the
// part is at the text's own position.
func valueOf(p passage.Part, v frontmatter.Value) passage.Part {
	from := p.File.Offset(v.Position)
	if n := strings.Index(p.Text[from:min(len(p.Text), from+2+len(v.Text))], v.Text); n >= 0 {
		return p.Slice(from+n, from+n+len(v.Text))
	}
	return p.With(v.Text, from)
}

func keys(fields []frontmatter.Field) (out []string) {
	for _, f := range fields {
		out = append(out, f.Key)
	}
	return out
}

// toolsOf returns the names in allowed-tools: a list, or a string separated by spaces or commas.
func toolsOf(v frontmatter.Value) (out []string) {
	texts := []string{v.Text}
	for _, item := range v.Items {
		texts = append(texts, item.Text)
	}
	for _, text := range texts {
		depth, from := 0, 0
		for i := range len(text) {
			switch c := text[i]; {
			case c == '(':
				depth++
			case c == ')':
				depth = max(depth-1, 0)
			case depth == 0 && strings.IndexByte(" ,\t\r\n", c) >= 0:
				out = append(out, text[from:i])
				from = i + 1
			}
		}
		out = append(out, text[from:])
	}
	return slices.DeleteFunc(out, func(tool string) bool { return tool == "" })
}

// yamlComments judges the comments of a frontmatter. A "#" in quotes or in a block scalar does not
// begin a comment.
func (m *page) yamlComments(p passage.Part) {
	inText := -1 // the indentation of the key of the current block scalar, or -1
	at := 0
	for line := range strings.Lines(p.Text) {
		start := at
		at += len(line)
		text := strings.TrimRight(line, " \t\r\n")
		indent := len(text) - len(strings.TrimLeft(text, " "))
		if text == "" || inText >= 0 && indent > inText {
			continue
		}
		inText = -1
		n := commentAt(text)
		if n < 0 {
			n = len(text)
		} else if comment := strings.TrimLeft(text[n:], "# \t"); comment != "" {
			m.hidden(p.Slice(start+len(text)-len(comment), start+len(text)), "a comment in the frontmatter", minHidden)
		}
		if value := strings.TrimRight(text[:n], " \t+-0123456789"); strings.HasSuffix(value, ": |") || strings.HasSuffix(value, ": >") {
			inText = indent
		}
	}
}

// commentAt returns the offset of the comment in a line of YAML, or -1.
func commentAt(text string) int {
	var quoted byte
	for i := range len(text) {
		switch c := text[i]; {
		case quoted != 0:
			if c == quoted && !(c == '"' && text[i-1] == '\\') {
				quoted = 0
			}
		case (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" [{,", text[i-1]) >= 0):
			quoted = c
		case c == '#' && (i == 0 || text[i-1] == ' ' || text[i-1] == '\t'):
			return i
		}
	}
	return -1
}
