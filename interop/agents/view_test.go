package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"regexp"
	"sort"
	"strings"

	"github.com/knack-dev/knack/interop/agents/model"
)

// wire is the recorded traffic between knack and a client.
type wire struct {
	starts       int    // how often knack was started
	client       string // the client's name and version, as it reports them
	protocol     string
	instructions string
	tools        map[string]string // from name to description
}

// read reads the recordings of all servers that the client started.
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

// view is the content of the model's first request.
type view struct {
	all, messages string // the result of [model.Request.Text] or Messages, after plain
	foreign       string // all without the text from knack
	ours          string // the text from knack
	instructions  int    // the number of characters of knack's instructions
	described     bool   // whether the model sees knack's tool skill
}

// look analyses the model's first request.
func look(req model.Request, w wire) view {
	v := view{all: plain(req.Text()), messages: plain(req.Messages())}
	v.foreign = v.all
	for _, name := range []string{"skill", "read_file_in_skill", "find_skills"} {
		if t, ok := find(req.Tools, name); ok {
			v.described = v.described || name == "skill"
			v.foreign = strings.Replace(v.foreign, plain(t.Description), "", 1)
			v.ours += plain(t.Description) + "\n"
		}
	}
	start := prefixOf(v.all, plain(w.instructions))
	v.instructions = len([]rune(start))
	v.ours += start
	if start != "" {
		v.foreign = strings.ReplaceAll(v.foreign, start, "")
	}
	return v
}

// prefixOf returns the longest beginning of a text that another text contains.
func prefixOf(text, source string) string {
	n := sort.Search(len(source), func(n int) bool { return !strings.Contains(text, source[:n+1]) })
	if n < min(20, len(source)) {
		return "" // so short a match can be a coincidence
	}
	return source[:n]
}

var space = regexp.MustCompile(`\s+`)

// plain removes escapes and joins lines, so that a text is found in any wrapping.
func plain(s string) string { return space.ReplaceAllString(html.UnescapeString(s), " ") }

// names returns the names of the skills in a text.
func names(text string, skills []listedSkill) (out []string) {
	for _, s := range skills {
		if regexp.MustCompile(`(^|[^a-zA-Z0-9-])` + regexp.QuoteMeta(s.Name) + `($|[^a-zA-Z0-9-])`).MatchString(text) {
			out = append(out, s.Name)
		}
	}
	return out
}

// descriptions returns the names of the skills whose descriptions a text contains, or at least
// their first 40 characters.
func descriptions(text string, skills []listedSkill) (out []string) {
	for _, s := range skills {
		d := []rune(plain(s.Description))
		if strings.Contains(text, string(d[:min(40, len(d))])) {
			out = append(out, s.Name)
		}
	}
	return out
}

// arrival describes how a text reached the model.
type arrival struct {
	parts    int  // the number of calls
	complete bool // the parts join to the whole text
	plain    bool // the first answer contains the whole text, unchanged
	quoted   bool // the first answer contains the whole text as a JSON string
	first    int  // the number of its bytes at the beginning of the first answer
}

// arrived compares the received text with the expected one.
func (s *step) arrived() arrival {
	a := arrival{parts: len(s.answers)}
	if a.parts == 0 {
		return a
	}
	text := strings.TrimRight(s.whole, "\n") // clients trim
	for _, form := range []string{text, quoted(text)} {
		rest := form
		for i, answer := range s.answers {
			part := prefixOf(answer, rest)
			// The client may have trimmed the line end.
			rest = strings.TrimLeft(strings.TrimPrefix(rest[len(part):], `\n`), "\n")
			if i == 0 {
				a.first = max(a.first, len(part))
				a.plain = a.plain || rest == "" && form == text
				a.quoted = rest == "" && !a.plain
			}
		}
		a.complete = a.complete || rest == ""
	}
	return a
}

// quoted returns a text as a JSON string, without the quotes around it.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return b.String()[1 : b.Len()-2]
}

// String returns the text for a cell of the table.
func (a arrival) String() string {
	switch {
	case a.parts == 0:
		return "not read"
	case a.plain:
		return "whole"
	case a.quoted:
		return "whole, as JSON"
	case a.complete:
		return fmt.Sprintf("in %d parts", a.parts)
	}
	return "cut"
}

// end returns the end of the first answer, where a client notes an omission.
func (s *step) end() string {
	if len(s.answers) == 0 {
		return ""
	}
	return s.answers[0][max(0, len(s.answers[0])-300):]
}
