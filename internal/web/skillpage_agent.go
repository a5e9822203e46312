package web

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// toolAnswer is the answer of one tool for a skill.
type toolAnswer struct {
	Tool, Arguments, Text string
	IsError               bool
	Characters, Left      int
	Tokens                int64
	Open                  bool
}

// clientView describes the part of a skill that a client sees before it requests anything.
type clientView struct{ Client, What string }

// maxAnswer is how much of a tool's answer is shown, in bytes.
const maxAnswer = 64 << 10

func (s *Site) agentView(r *request, v catalog.View, e *catalog.Entry, p *skillPage) error {
	for i, t := range s.o.Tools {
		required := t.Required()
		if len(required) == 0 {
			continue
		}
		args := argument([]byte("{"), required[0], argumentFor(t, v, e))
		if len(required) > 1 {
			args = argument(append(args, ','), required[1], skill.MainFile)
		}
		args = append(args, '}')
		res, err := t.Call(r.Context(), s.host, args) // with the rights of the client
		if err != nil {
			return err
		}
		n := utf8.RuneCountInString(res.Text)
		text := display.CutBytes(res.Text, maxAnswer)
		p.Answers = append(p.Answers, toolAnswer{
			t.Name, string(args), text, res.IsError, n, n - utf8.RuneCountInString(text), tokensOf(int64(n)), i == 0,
		})
	}
	p.Shown = shownTo(s.fitsOf(v), e)
	return nil
}

// argument appends one argument of a call. The caller appends arguments in the order of the schema.
func argument(args []byte, key, value string) []byte {
	return display.AppendJSONString(append(display.AppendJSONString(args, key), ':'), value)
}

// argumentFor returns the argument with which a tool finds a skill: its URI, its folder
// (contract 000) or the name that loads it.
func argumentFor(t *tool.Tool, v catalog.View, e *catalog.Entry) string {
	switch {
	case t.Required()[0] == "uri":
		return e.URI().String()
	case t.Contract == "000":
		return e.Folder()
	}
	return v.Called(e)
}

func shownTo(fits []tool.Fit, e *catalog.Entry) (out []clientView) {
	if !e.ModelVisible() {
		return nil
	}
	for _, f := range fits {
		what := "name and whole description"
		switch {
		case containsEntry(f.Left, e):
			what = "nothing: the list is too long for the client, and search alone finds the skill"
		case containsEntry(f.ByName, e):
			what = "the name without a description: the list is too long for the client"
		case containsEntry(f.Shortened, e):
			what = "the name and a shortened description"
		}
		out = append(out, clientView{clientName(f.Client), what})
	}
	return out
}

// containsEntry reports whether a list has the skill. It compares root and path,
// because the entry may have been read again.
func containsEntry(all []*catalog.Entry, e *catalog.Entry) bool {
	return slices.ContainsFunc(all, func(o *catalog.Entry) bool { return o.Root.Label == e.Root.Label && o.Path == e.Path })
}

func clientName(name string) string {
	if name == "" {
		return "Other clients"
	}
	name, before, older := strings.Cut(name, " before ")
	if c, ok := clientconfig.Find(name); ok {
		name = c.Name
	}
	if older {
		name += " before " + before
	}
	return name
}
