package clientconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// tomlFile is the content of a TOML file. Its keys are a flat list in file order.
type tomlFile struct {
	tables []tomlTable
	keys   []tomlKey
}

type tomlTable struct {
	path  []string
	array bool
	end   int // the end of the header's line, including a comment
}

// tomlKey is one key with its value. The value is a string, a bool or a list. A value of another
// type is its text, as a [json.Number] or a [json.RawMessage].
type tomlKey struct {
	table, path        []string
	value              any
	start, end         int // of the value
	lineStart, lineEnd int // of the whole lines, including their ends
	line               int
}

var reBareKey = lazyregexp.New(`^[A-Za-z0-9_-]+`)

// parseTOML returns the tables and keys of a file that go-toml accepts.
func parseTOML(data []byte) (f tomlFile, err error) {
	if err := checkTOML(data); err != nil {
		return f, err
	}
	mark := len(data) - len(trimMark(data)) // the parser accepts no byte-order mark
	text := string(data)
	behind := func(at int) int { // the end of the line that contains at
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			return at + i + 1
		}
		return len(text)
	}
	var p unstable.Parser
	p.Reset(data[mark:])
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		var path []string
		last := 0 // end of the key
		for it := e.Key(); it.Next(); {
			part := it.Node()
			path = append(path, string(part.Data))
			last = mark + int(part.Raw.Offset+part.Raw.Length)
		}
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			end := len(strings.TrimRight(text[:behind(last)], "\r\n"))
			f.tables = append(f.tables, tomlTable{path, e.Kind == unstable.ArrayTable, end})
			table = path
		case unstable.KeyValue:
			from, end := mark+int(e.Raw.Offset), mark+int(e.Raw.Offset+e.Raw.Length)
			start := end - len(strings.TrimLeft(text[last+strings.IndexByte(text[last:], '=')+1:end], " \t"))
			f.keys = append(f.keys, tomlKey{
				table: table, path: path, value: tomlNode(e.Value(), text[start:end]), start: start, end: end,
				lineStart: 1 + strings.LastIndexByte(text[:from], '\n'), lineEnd: behind(end), line: 1 + strings.Count(text[:from], "\n"),
			})
		}
	}
	return f, p.Error()
}

// checkTOML returns the first fault of a file, with its line.
func checkTOML(data []byte) error {
	depth := 0 // counts at least the nesting, which must be bounded because the parser is recursive
	for _, c := range data {
		switch c {
		case '[', '{':
			if depth++; depth > maxNesting {
				return fmt.Errorf("it nests too deep")
			}
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
	var values map[string]any
	err := toml.Unmarshal(trimMark(data), &values)
	if fault, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := fault.Position()
		return fmt.Errorf("line %d: %s", line, strings.TrimPrefix(fault.Error(), "toml: "))
	}
	return err
}

func trimMark(data []byte) []byte {
	return []byte(strings.TrimPrefix(string(data), "\ufeff"))
}

// tomlNode returns the value of a node, given the text of the node in the file.
func tomlNode(n *unstable.Node, text string) any {
	switch n.Kind {
	case unstable.String:
		return string(n.Data)
	case unstable.Bool:
		return string(n.Data) == "true"
	case unstable.Array:
		list := []any{}
		for it := n.Children(); it.Next(); {
			list = append(list, tomlNode(it.Node(), string(it.Node().Data)))
		}
		return list
	case unstable.InlineTable:
		if text == "" { // the parser gives no text for an item of a list
			var parts []string
			for it := n.Children(); it.Next(); {
				var path []string
				for key := it.Node().Key(); key.Next(); {
					path = append(path, string(key.Node().Data))
				}
				value := it.Node().Value()
				parts = append(parts, fmt.Sprintf("%s = %v", strings.Join(path, "."), tomlNode(value, string(value.Data))))
			}
			text = "{ " + strings.Join(parts, ", ") + " }"
		}
		return json.RawMessage(text)
	}
	return json.Number(text)
}
