package frontmatter

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/knack-dev/knack/internal/base/display"
)

// Only this file uses the YAML library. The library parses to nodes. The functions here convert
// nodes to values by the YAML 1.2 core schema.

// maxDepth bounds the nesting of frontmatter, so a hostile document costs little. None of 145,005
// real skills comes near it.
const maxDepth = 16

// yamlFault is the reason that a block cannot be read as written.
type yamlFault struct {
	rule     RuleID
	position Position // in the block, from 1:1
	message  string
	fix      string   // if the fault determines the fix
	first    Position // for a duplicate key, the position of the first one
}

var yamlLimits = yaml.WithPlugin(loaderlimits.New(
	loaderlimits.DepthValue(maxDepth), loaderlimits.AliasNone()))

// parseYAML reads one YAML document. Aliases, anchors, merge keys, tags and several documents are
// faults, because each can make two readers disagree. None of 145,005 real skills used them
// validly. Faults that do not stop the reading are returned as notes. These are a duplicate key, of
// which the first one counts, a key that is not a string, and a number without a JSON form.
func parseYAML(block string) (v Value, notes []yamlFault, fault *yamlFault) {
	var doc, more yaml.Node
	loader, err := yaml.NewLoader(strings.NewReader(block), yamlLimits)
	if err == nil {
		err = loader.Load(&doc)
	}
	if errors.Is(err, io.EOF) {
		return Value{Kind: Null, Position: Position{1, 1}}, nil, nil
	}
	if err != nil {
		return Value{}, nil, faultOf(err, block)
	}
	if err := loader.Load(&more); !errors.Is(err, io.EOF) {
		p := Position{max(more.Line, 1), max(more.Column, 1)}
		if err != nil {
			p = faultOf(err, block).position
		}
		return Value{}, nil, &yamlFault{rule: YAMLSyntax, position: p, message: "a second YAML document begins here"}
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return Value{Kind: Null, Position: Position{1, 1}}, nil, nil
	}
	var w converter
	v, fault = w.value(doc.Content[0])
	return v, w.notes, fault
}

// ParseYAML parses a whole YAML document under the rules for frontmatter. It accepts one document,
// at most [maxDepth] deep, without anchors, aliases, merge keys, tags and control characters.
// Positions refer to the text. If there are problems, the value is the readable part, which may be
// empty.
func ParseYAML(text string) (Value, []Problem) {
	fault := unsafeCharacter(text)
	switch i := strings.IndexByte(text, 0); {
	case !utf8.ValidString(text):
		return Value{}, []Problem{{Rule: FileEncoding, Position: positionOf(text, invalidAt(text)), Message: "the file is not valid UTF-8", Fix: "save the file as UTF-8"}}
	case i >= 0:
		return Value{}, []Problem{{Rule: YAMLControl, Position: positionOf(text, i), Message: "the file contains a NUL character", Fix: "delete it"}}
	case fault == nil:
		v, notes, refused := parseYAML(text)
		if fault = refused; fault == nil {
			var problems []Problem
			for _, n := range notes[:min(len(notes), maxProblems)] {
				p := n.problem(func(p Position) Position { return p })
				if n.rule == YAMLDuplicate {
					p.Message = fmt.Sprintf("%s; the first is on line %d", n.message, n.first.Line) // unlike in frontmatter, the first key does not count either
				}
				problems = append(problems, p)
			}
			return v, problems
		}
	}
	return Value{}, []Problem{{Rule: fault.rule, Position: fault.position, Message: fault.message, Fix: fault.fix}}
}

// faultOf returns the fault for the library's error about a block.
func faultOf(err error, block string) *yamlFault {
	c := parserError{message: err.Error(), at: Position{1, 1}, lines: linesOf(block)}
	var load *yaml.LoadError
	if errors.As(err, &load) {
		c.message = load.Message
		c.contextStart = Position{load.ContextMark.Line, load.ContextMark.Column}
		if c.at = (Position{load.Mark.Line, load.Mark.Column}); c.at.Line == 0 {
			c.at = c.contextStart
		}
		if c.contextStart.Line == 0 {
			c.contextStart = c.at
		}
	}
	f := c.fault()
	f.position = Position{max(f.position.Line, 1), max(f.position.Column, 1)}
	return f
}

type converter struct {
	notes []yamlFault
	depth int
}

func (w *converter) note(rule RuleID, p Position, format string, args ...any) {
	w.notes = append(w.notes, yamlFault{rule: rule, position: p, message: fmt.Sprintf(format, args...)})
}

func syntaxFault(p Position, format string, args ...any) *yamlFault {
	return &yamlFault{rule: YAMLSyntax, position: p, message: fmt.Sprintf(format, args...)}
}

const quotedStyles = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

func (w *converter) value(n *yaml.Node) (Value, *yamlFault) {
	v := Value{Position: Position{n.Line, n.Column}}
	switch {
	case n.Kind == yaml.AliasNode:
		return v, syntaxFault(v.Position, "an alias (*%s) is not supported", display.Excerpt(n.Value))
	case n.Anchor != "":
		return v, syntaxFault(v.Position, "an anchor (&%s) is not supported", display.Excerpt(n.Anchor))
	case n.Style&yaml.TaggedStyle != 0 || n.Tag == "!":
		return v, syntaxFault(v.Position, "a tag (%s) is not supported", display.Excerpt(n.Tag))
	}
	if n.Kind == yaml.SequenceNode || n.Kind == yaml.MappingNode {
		// The library counts brackets and indentation separately.
		if w.depth++; w.depth > maxDepth {
			fault := syntaxFault(v.Position, "more than %d levels deep", maxDepth)
			fault.fix = fixDepth
			return v, fault
		}
		defer func() { w.depth-- }()
	}
	switch n.Kind {
	case yaml.ScalarNode:
		v.Text, v.Kind = n.Value, String
		if n.Style&quotedStyles == 0 {
			v.Kind = KindOf(n.Value)
		}
		if v.Kind == Number && !v.Finite() {
			w.note(YAMLNotJSON, v.Position, "%s has no JSON form", display.Excerpt(v.Text))
		}
		return v, nil
	case yaml.SequenceNode:
		v.Kind = List
		for _, c := range n.Content {
			item, fault := w.value(c)
			if fault != nil {
				return v, fault
			}
			v.Items = append(v.Items, item)
		}
		return v, nil
	case yaml.MappingNode:
		v.Kind = Map
		fields, fault := w.fields(n)
		v.Fields = fields
		return v, fault
	}
	return v, syntaxFault(v.Position, "this kind of YAML node is not supported")
}

func (w *converter) fields(n *yaml.Node) ([]Field, *yamlFault) {
	fields := make([]Field, 0, len(n.Content)/2)
	seen := make(map[string]Position, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, fault := w.key(n.Content[i])
		if fault != nil {
			return fields, fault
		}
		value, fault := w.value(n.Content[i+1])
		if fault != nil {
			return fields, fault
		}
		if first, dup := seen[key.Text]; dup {
			w.note(YAMLDuplicate, key.Position, "the key %s occurs twice", display.Quote(key.Text))
			w.notes[len(w.notes)-1].first = first
			continue
		}
		seen[key.Text] = key.Position
		fields = append(fields, Field{Key: key.Text, KeyPosition: key.Position, Value: value})
	}
	return fields, nil
}

func (w *converter) key(n *yaml.Node) (Value, *yamlFault) {
	key, fault := w.value(n)
	switch {
	case fault != nil:
	case key.Kind == List || key.Kind == Map:
		fault = syntaxFault(key.Position, "there is a list or mapping where a key is expected")
		fault.fix = "write a key, or delete the brackets"
	case key.Kind == String && key.Text == "<<" && n.Style&quotedStyles == 0:
		fault = syntaxFault(key.Position, "a merge key (<<) is not supported")
	case key.Kind == Null && key.Text == "":
		w.note(YAMLKeyType, key.Position, "there is no key before the colon")
	case key.Kind != String:
		w.note(YAMLKeyType, key.Position, "the key %s is not a string", display.Quote(key.Text))
	case key.Text == "__proto__":
		// Readers in JavaScript refuse this key, so they could not read a list with such a skill.
		w.note(YAMLNotJSON, key.Position, "the key __proto__ is refused by JavaScript readers")
	}
	return key, fault
}
