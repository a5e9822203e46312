package agents

import (
	"regexp"
	"strings"

	"github.com/knack-dev/knack/interop/agents/model"
)

// step is one call of a tool of knack's that the scripted model wants to make.
type step struct {
	tool string // knack's name of it
	args map[string]any
	// whole is the text that the model should have in the end.
	whole string

	name    string   // the client's name of the tool; empty where the model never saw it
	answers []string // what came back, one for each call
	found   bool     // by the client's own search for tools
}

// play is the scripted model: it makes the calls of its steps one after the other,
// looks a tool up where the client hides it, and reads on where an answer says how.
type play struct {
	steps   []*step
	at      int
	pending *model.Call
	looking bool // the pending call is a search for a tool
	looked  int  // searches for the tool of this step
	trouble []string
}

// next is the model's turn.
func (p *play) next(req model.Request) model.Reply {
	if p.pending != nil {
		answer, ok := req.Result(p.pending.ID)
		if !ok {
			p.trouble = append(p.trouble, "the client sent no result of "+p.pending.Name)
			return model.Reply{Text: "I was told nothing."}
		}
		p.pending = nil
		if !p.looking {
			s := p.steps[p.at]
			s.answers = append(s.answers, answer)
			if more, ok := readOn(answer, s); ok && len(s.answers) < 50 {
				return p.call(req, s, more)
			}
			p.at++
			p.looked = 0
		}
	}
	for ; p.at < len(p.steps); p.at, p.looked = p.at+1, 0 {
		s := p.steps[p.at]
		if _, ok := find(req.Tools, s.tool); ok {
			return p.call(req, s, s.args)
		}
		if t, ok := search(req.Tools); ok && p.looked < 2 {
			p.looked++
			p.looking, s.found = true, true
			p.pending = &model.Call{Name: t.Name, Kind: t.Kind, Args: map[string]any{"query": "knack " + s.tool, "max_results": 5}}
			return model.Reply{Call: p.pending}
		}
		p.trouble = append(p.trouble, "no tool "+s.tool)
	}
	return model.Reply{Text: "All read."}
}

func (p *play) call(req model.Request, s *step, args map[string]any) model.Reply {
	t, _ := find(req.Tools, s.tool)
	s.name, p.looking = shownName(t), false
	p.pending = &model.Call{Name: t.Name, Namespace: t.Namespace, Args: args}
	return model.Reply{Call: p.pending}
}

// find finds a tool of knack's under the name that a client gives it.
func find(tools []model.Tool, name string) (model.Tool, bool) {
	ours := regexp.MustCompile(`^(mcp_+)?knack[-_.]+` + name + `$`)
	for _, t := range tools {
		if ours.MatchString(shownName(t)) {
			return t, true
		}
	}
	for _, t := range tools {
		if t.Name == name && t.Namespace == "" && strings.Contains(t.Description, "skill") {
			return t, true
		}
	}
	return model.Tool{}, false
}

func shownName(t model.Tool) string {
	if t.Namespace != "" {
		return t.Namespace + "." + t.Name
	}
	return t.Name
}

// search finds the client's own tool that finds deferred tools.
func search(tools []model.Tool) (model.Tool, bool) {
	for _, t := range tools {
		if t.Name == "ToolSearch" || t.Name == "tool_search" {
			return t, true
		}
	}
	return model.Tool{}, false
}

var argument = regexp.MustCompile(`"?\b(skill_name|file_path|offset|limit)\b"?\s*[:=]\s*(?:"([^"]*)"|(\d+))`)

// readOn reads from the end of an answer how to get what it left out.
func readOn(answer string, s *step) (map[string]any, bool) { return nil, false }
