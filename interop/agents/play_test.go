package agents

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/knack-dev/knack/interop/agents/model"
)

// step is one thing that the scripted model wants from knack.
type step struct {
	tool string // knack's name of it
	args map[string]any
	// whole is the text that the model should have in the end.
	whole string

	name    string   // the client's name of the tool; empty where the model never saw it
	found   bool     // by the client's own search for tools
	answers []string // what came back, one for each call
}

// play is the scripted model: it makes the calls of its steps one after the other,
// looks a tool up where the client hides it, and reads on where an answer says how.
type play struct {
	steps   []*step
	more    func(last *step) *step // the step after the last one; nil for none
	trouble []string

	at      int
	pending *model.Call
	looking bool   // the pending call is a search for a tool
	looked  int    // searches for the tool of this step
	hint    string // the name of the tool that a search gave, where it stays hidden
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
		if p.looking {
			p.hint = regexp.MustCompile(prefix + p.steps[p.at].tool + `\b`).FindString(answer)
		} else {
			s := p.steps[p.at]
			s.answers = append(s.answers, answer)
			if more, ok := readOn(answer, s); ok && len(s.answers) < 50 {
				return p.call(req, s, more)
			}
			p.done()
		}
	}
	for ; p.at < len(p.steps); p.done() {
		s := p.steps[p.at]
		if reply := p.call(req, s, s.args); reply.Call != nil {
			return reply
		}
		if call := search(req.Tools, s.tool); call != nil && p.looked < 2 {
			p.looked++
			p.looking, s.found, p.pending = true, true, call
			return model.Reply{Call: call}
		}
		p.trouble = append(p.trouble, "the model finds no tool "+s.tool)
	}
	return model.Reply{Text: "All read."}
}

func (p *play) done() {
	p.at, p.looked = p.at+1, 0
	if p.at < len(p.steps) || p.more == nil {
		p.hint = ""
		return
	}
	if s := p.more(p.steps[p.at-1]); s != nil {
		p.steps = append(p.steps, s) // of the same tool, so that the hint stays
	}
}

// call calls the tool of a step: by itself, or through what the client has for tools
// that stay hidden. The reply has no call where the model cannot see the tool.
func (p *play) call(req model.Request, s *step, args map[string]any) model.Reply {
	p.looking = false
	if t, ok := find(req.Tools, s.tool); ok {
		s.name = shownName(t)
		p.pending = &model.Call{Name: t.Name, Namespace: t.Namespace, Args: args}
	} else if p.hint == "" {
		return model.Reply{}
	} else if t, ok := named(req.Tools, "tool_call"); ok {
		s.name = p.hint
		p.pending = &model.Call{Name: t.Name, Args: map[string]any{"name": p.hint, "arguments": args}}
	} else if t, ok := named(req.Tools, "exec"); ok && t.Kind == model.Custom {
		s.name = p.hint
		data, _ := json.Marshal(args)
		p.pending = &model.Call{Name: t.Name, Namespace: t.Namespace, Kind: t.Kind, Input: fmt.Sprintf("text(await tools.%s(%s));", p.hint, data)}
	}
	return model.Reply{Call: p.pending}
}

// search is a call of what the client has for finding hidden tools.
func search(tools []model.Tool, name string) *model.Call {
	if t, ok := named(tools, "ToolSearch"); ok {
		return &model.Call{Name: t.Name, Args: map[string]any{"query": "knack " + name, "max_results": 5}}
	}
	if t, ok := named(tools, "tool_search"); ok {
		return &model.Call{Name: t.Name, Kind: t.Kind, Args: map[string]any{"query": "knack " + name}}
	}
	if t, ok := named(tools, "exec"); ok && t.Kind == model.Custom {
		return &model.Call{Name: t.Name, Namespace: t.Namespace, Kind: t.Kind,
			Input: `text(ALL_TOOLS.filter(t => t.name.includes("knack")).map(t => t.name).join("\n"));`}
	}
	return nil
}

// prefix is how clients name a tool of the server knack.
const prefix = `(mcp_+)?knack[-_.]+`

// find finds a tool of knack's under the name that a client gives it.
func find(tools []model.Tool, name string) (model.Tool, bool) {
	ours := regexp.MustCompile(`^` + prefix + name + `$`)
	for _, t := range tools {
		if ours.MatchString(shownName(t)) {
			return t, true
		}
	}
	// A client that gives tools no prefix.
	for _, t := range tools {
		if t.Name == name && t.Namespace == "" && bare(tools) {
			return t, true
		}
	}
	return model.Tool{}, false
}

// bare reports whether knack's tools stand under their own names: a tool of the
// client's may be called skill too, but no other is called as the second.
func bare(tools []model.Tool) bool {
	_, ok := named(tools, "read_file_in_skill")
	return ok
}

func named(tools []model.Tool, name string) (model.Tool, bool) {
	for _, t := range tools {
		if t.Name == name {
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

// argument is one argument in the words of an answer that says how to read on.
var argument = regexp.MustCompile(`\\?"?\b(skill_name|file_path|offset|limit)\\?"?\s*[:=]\s*(?:\\?"([^"\\]*)\\?"|(\d+))`)

// readOn reads in the end of an answer how to get what it left out: an offset, and
// what else the call needs.
func readOn(answer string, s *step) (map[string]any, bool) {
	end := answer[max(0, len(answer)-800):]
	if !strings.Contains(end, "read_file_in_skill") {
		return nil, false
	}
	args := map[string]any{"skill_name": s.args["skill_name"], "file_path": s.args["file_path"]}
	if s.tool == "skill" {
		args = map[string]any{"skill_name": s.args["name"], "file_path": "SKILL.md"}
	}
	offset := false
	for _, m := range argument.FindAllStringSubmatch(end, -1) {
		if m[3] != "" {
			var n int
			_, _ = fmt.Sscan(m[3], &n)
			args[m[1]] = n
			offset = offset || m[1] == "offset"
		} else {
			args[m[1]] = m[2]
		}
	}
	return args, offset
}
