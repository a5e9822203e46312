package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/knack-dev/knack/interop/agents/model"
)

// wire is what knack and a client said to each other.
type wire struct {
	starts       int    // of knack
	client       string // name and version, as the client gives them
	protocol     string
	instructions string
	tools        map[string]string // description by name
}

// read reads what the recorder kept of all servers that the client started.
func (r *session) read() (wire, error) {
	w := wire{tools: map[string]string{}}
	data, err := os.ReadFile(r.wire)
	if err != nil {
		return w, err
	}
	for text := range bytes.Lines(data) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return w, err
		}
		if l.From == "start" {
			w.starts++
		}
		var m struct {
			Method string
			Params struct {
				ClientInfo      info
				ProtocolVersion string
				Meta            struct {
					Client   info   `json:"io.modelcontextprotocol/clientInfo"`
					Protocol string `json:"io.modelcontextprotocol/protocolVersion"`
				} `json:"_meta"`
			}
			Result struct {
				Instructions    string
				ProtocolVersion string
				Tools           []struct{ Name, Description string }
			}
		}
		if l.JSON == nil || json.Unmarshal(l.JSON, &m) != nil {
			continue
		}
		for _, i := range []info{m.Params.ClientInfo, m.Params.Meta.Client} {
			if i.Name != "" {
				w.client = i.Name + " " + i.Version
			}
		}
		if m.Result.ProtocolVersion != "" {
			w.protocol = m.Result.ProtocolVersion
		}
		if m.Params.Meta.Protocol != "" {
			w.protocol = m.Params.Meta.Protocol
		}
		if m.Result.Instructions != "" {
			w.instructions = m.Result.Instructions
		}
		for _, t := range m.Result.Tools {
			w.tools[t.Name] = t.Description
		}
	}
	return w, nil
}

type info struct{ Name, Version string }

// view is what the model is shown before it does anything.
type view struct {
	all, messages string // as [model.Request.Text] has it, in plain words
	foreign       string // without what comes from knack
	instructions  int    // characters of knack's instructions
	described     bool   // knack's tool skill is described
}

// look reads the first request.
func look(req model.Request, w wire) view {
	v := view{all: plain(req.Text()), messages: plain(req.Messages())}
	v.foreign = v.all
	for _, name := range []string{"skill", "read_file_in_skill", "find_skills"} {
		if t, ok := find(req.Tools, name); ok {
			v.described = v.described || name == "skill"
			v.foreign = strings.Replace(v.foreign, plain(t.Description), "", 1)
		}
	}
	shown := prefixOf(v.all, plain(w.instructions))
	v.instructions = len([]rune(shown))
	if shown != "" {
		v.foreign = strings.ReplaceAll(v.foreign, shown, "")
	}
	return v
}

// prefixOf is as much of the beginning of a text as stands in another.
func prefixOf(text, of string) string {
	runes := []rune(of)
	low, high := 0, len(runes)
	for low < high {
		middle := (low + high + 1) / 2
		if strings.Contains(text, string(runes[:middle])) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	if low < 20 {
		return "" // a word that stands there anyway
	}
	return string(runes[:low])
}

var space = regexp.MustCompile(`\s+`)

// plain takes escapes and line ends away, so that a text is found in any wrapping.
func plain(s string) string { return space.ReplaceAllString(html.UnescapeString(s), " ") }

// names are those of the skills that stand in a text.
func names(text string, of []listed) (out []string) {
	for _, s := range of {
		if regexp.MustCompile(`(^|[^a-zA-Z0-9-])` + regexp.QuoteMeta(s.Name) + `($|[^a-zA-Z0-9-])`).MatchString(text) {
			out = append(out, s.Name)
		}
	}
	return out
}

// descriptions are the names of the skills whose description stands in a text, or at
// least its first 40 characters.
func descriptions(text string, of []listed) (out []string) {
	for _, s := range of {
		d := []rune(plain(s.Description))
		if strings.Contains(text, string(d[:min(40, len(d))])) {
			out = append(out, s.Name)
		}
	}
	return out
}

// arrival is how a text came to the model.
type arrival struct {
	parts    int  // calls it took
	complete bool // every line came
	plain    bool // the first answer has it whole, character by character
	quoted   bool // the same, as a string of JSON
	first    int  // characters of the text in the first answer
}

// String is the cell of a table.
func (a arrival) String() string {
	switch {
	case a.parts == 0:
		return "not read"
	case a.plain:
		return "whole"
	case a.quoted:
		return "whole, as JSON"
	case a.complete && a.parts == 1:
		return "every line, not in one piece"
	case a.complete:
		return fmt.Sprintf("in %d parts", a.parts)
	}
	return "cut"
}

// end is the end of the first answer, where a client says what it left out.
func (s *step) end() string {
	if len(s.answers) == 0 {
		return ""
	}
	return s.answers[0][max(0, len(s.answers[0])-300):]
}

// arrived compares what came with the text that should have come.
func (s *step) arrived() arrival {
	a := arrival{parts: len(s.answers)}
	if a.parts == 0 {
		return a
	}
	quoted, _ := json.Marshal(s.whole)
	a.plain = strings.Contains(s.answers[0], strings.TrimRight(s.whole, "\n"))
	a.quoted = !a.plain && strings.Contains(s.answers[0], strings.TrimSuffix(string(quoted[1:len(quoted)-1]), `\n`))
	a.complete = true
	for line := range strings.Lines(s.whole) {
		line = strings.TrimSuffix(line, "\n")
		data, _ := json.Marshal(line)
		has := func(part string) bool {
			return strings.Contains(part, line) || strings.Contains(part, string(data[1:len(data)-1]))
		}
		if has(s.answers[0]) {
			a.first += len(line) + 1
		}
		a.complete = a.complete && slices.ContainsFunc(s.answers, has)
	}
	return a
}
