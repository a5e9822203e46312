package agents

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/knack-dev/knack/interop/agents/model"
)

// step is one call to knack that the scripted model makes.
type step struct {
	tool string // knack's name for the tool
	args object
	// whole is the text that the model should have in the end.
	whole string

	name    string   // the client's name for the tool; empty if the model never saw it
	found   bool     // whether the client's own search for tools found it
	answers []string // the results, one for each call
}

// play is the scripted model. It makes the calls of its steps one after the other. It searches for
// a tool that the client hides, and it follows an answer that names the call for the rest.
type play struct {
	steps   []*step
	more    func(last *step) *step // returns a step to add after the last one, or nil
	trouble []string

	at      int
	tool    string // the tool to call next, and its arguments
	args    object
	pending *model.Call
	looking bool              // the pending call is a search for the tool
	looked  int               // the number of searches for the tool
	hints   map[string]string // from knack's name to the client's name, for tools that a search found
}

// next returns the model's next reply.
func (p *play) next(req model.Request) model.Reply {
	if p.pending != nil {
		answer, ok := req.Result(p.pending.ID)
		if !ok {
			p.trouble = append(p.trouble, "the client sent no result of "+p.pending.Name)
			return model.Reply{Text: "I was told nothing."}
		}
		p.pending = nil
		p.take(answer)
	}
	for ; p.at < len(p.steps); p.done() {
		s := p.steps[p.at]
		if p.tool == "" {
			p.tool, p.args = s.tool, s.args
		}
		if p.call(req, s) {
			return model.Reply{Call: p.pending}
		}
		if call := search(req.Tools, p.tool); call != nil && p.looked < 2 {
			p.looked++
			p.looking, s.found, p.pending = true, true, call
			return model.Reply{Call: call}
		}
		p.trouble = append(p.trouble, "the model finds no tool "+p.tool)
	}
	return model.Reply{Text: "All read."}
}

// take records the result of the pending call.
func (p *play) take(answer string) {
	if p.looking {
		p.looking = false
		if p.hints == nil {
			p.hints = map[string]string{}
		}
		p.hints[p.tool] = regexp.MustCompile(prefix + p.tool + `\b`).FindString(answer)
		return
	}
	s := p.steps[p.at]
	s.answers = append(s.answers, answer)
	if more, ok := readOn(answer); ok && len(s.answers) < 50 {
		p.tool, p.args, p.looked = "read_file_in_skill", more, 0
		return
	}
	p.done()
}

// done begins the next step.
func (p *play) done() {
	p.at, p.tool, p.args, p.looked = p.at+1, "", nil, 0
	if p.at == len(p.steps) && p.more != nil {
		if s := p.more(p.steps[p.at-1]); s != nil {
			p.steps = append(p.steps, s)
		}
	}
}

// call prepares a call of the wanted tool, directly or through the client's own tool for hidden
// tools. It reports whether the model can make the call.
func (p *play) call(req model.Request, s *step) bool {
	name, hint := "", p.hints[p.tool]
	if t, ok := find(req.Tools, p.tool); ok {
		name = shownName(t)
		p.pending = &model.Call{Name: t.Name, Namespace: t.Namespace, Args: p.args}
	} else if hint == "" {
		return false
	} else if t, ok := named(req.Tools, "tool_call"); ok {
		name = hint
		p.pending = &model.Call{Name: t.Name, Args: object{"name": hint, "arguments": p.args}}
	} else if t, ok := named(req.Tools, "exec"); ok && t.Kind == model.Custom {
		name = hint
		data, _ := json.Marshal(p.args)
		p.pending = &model.Call{Name: t.Name, Namespace: t.Namespace, Kind: t.Kind, Input: fmt.Sprintf("text(await tools.%s(%s));", hint, data)}
	} else {
		return false
	}
	if s.name == "" {
		s.name = name
	}
	return true
}

// search returns a call of the client's own search for hidden tools, or nil.
func search(tools []model.Tool, name string) *model.Call {
	if t, ok := named(tools, "ToolSearch"); ok {
		return &model.Call{Name: t.Name, Args: object{"query": "knack " + name, "max_results": 5}}
	}
	if t, ok := named(tools, "tool_search"); ok {
		return &model.Call{Name: t.Name, Kind: t.Kind, Args: object{"query": "knack " + name}}
	}
	if t, ok := named(tools, "exec"); ok && t.Kind == model.Custom {
		return &model.Call{Name: t.Name, Namespace: t.Namespace, Kind: t.Kind,
			Input: `text(ALL_TOOLS.filter(t => t.name.includes("knack")).map(t => t.name).join("\n"));`}
	}
	return nil
}

// prefix matches the prefixes with which clients name the tools of the server knack.
const prefix = `(mcp_+)?knack[-_.]+`

// find returns the tool that is knack's tool of this name, whatever prefix the client adds.
func find(tools []model.Tool, name string) (model.Tool, bool) {
	ours := regexp.MustCompile(`^` + prefix + name + `$`)
	for _, t := range tools {
		if ours.MatchString(shownName(t)) {
			return t, true
		}
	}
	// Some clients add no prefix.
	for _, t := range tools {
		if t.Name == name && t.Namespace == "" && bare(tools) {
			return t, true
		}
	}
	return model.Tool{}, false
}

// bare reports whether knack's tools have no prefix. It looks for read_file_in_skill, since a
// client may have its own tool named skill.
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

// readOn parses, at the end of an answer, the call that returns the omitted rest: the tool's name,
// followed by the arguments as an object with an offset.
func readOn(answer string) (args object, ok bool) {
	at := strings.LastIndex(answer, "read_file_in_skill")
	if at < 0 {
		return nil, false
	}
	// A client may show the answer as a JSON string.
	end := strings.ReplaceAll(answer[at:], `\"`, `"`)
	from, to := strings.IndexByte(end, '{'), strings.IndexByte(end, '}')
	if from < 0 || to < from || json.Unmarshal([]byte(end[from:to+1]), &args) != nil {
		return nil, false
	}
	_, ok = args["offset"]
	return args, ok
}
