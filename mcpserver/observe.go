package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/audit"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/mcpserver/internal/httpd"
	"github.com/knack-dev/knack/reads"
	"github.com/knack-dev/knack/skill"
)

// Use is something that a client did with skills, and was answered: it asked for
// the tools (tools/list), called one (tools/call), read a resource
// (resources/read) or took a prompt (prompts/get). With [Options.Audit] it is
// any request, with any outcome.
type Use struct {
	Client string // what it calls itself, or empty
	Method string
	Name   string // of the tool or prompt
	// Arguments are the call's, as they were given.
	Arguments json.RawMessage
	URI       string // of the resource
	// View is what the call's subject could see when it was answered; empty if it was
	// refused before.
	View    catalog.View
	Subject access.Subject // whose token the call bore
	// Event is the same for the audit log; its zero value without [Options.Audit].
	Event audit.Event
}

// Answered reports whether the client was given what it asked for.
func (u Use) Answered() bool { return u.Event.Result == "" || u.Event.Result == audit.OK }

// observed begins to watch a request for [Options.Observe]. The caller calls the returned
// function after the answer. Failed requests are observed with [Options.Audit] only.
func (s *Server) observed(ctx context.Context, r *request) (context.Context, func(failed bool)) {
	if s.observe == nil || !s.audit && !isUse[r.method] || r.method == "ping" || strings.HasPrefix(r.method, "notifications/") {
		return ctx, func(bool) {}
	}
	u, q := useOf(r)
	var trace *reads.Trace
	if s.audit {
		ctx, trace = reads.WithTrace(ctx)
	}
	return ctx, func(failed bool) {
		if failed && !s.audit {
			return
		}
		if u.View, _ = s.catalog.View(ctx); u.View.Snapshot == nil && !s.audit {
			return
		}
		if s.audit {
			u.Event = s.eventOf(ctx, u, r.Address, q, trace, failed)
		}
		s.observe(u)
	}
}

// isUse are the methods that are uses of skills.
var isUse = map[string]bool{"tools/list": true, "tools/call": true, "resources/read": true, "prompts/get": true}

// question is what a request asks about.
type question struct {
	name, uri, file string // a skill by its name, something by its URI, a file of the skill
}

func useOf(r *request) (Use, *question) {
	p := &r.params
	u := Use{Method: r.method, Client: r.client.Name, Name: p.Name, Arguments: p.Arguments, URI: p.URI, Subject: r.Subject}
	q := &question{}
	switch r.method {
	case "tools/call":
		*q = argumentsOf(p.Arguments)
	case "prompts/get":
		q.name = p.Name
	}
	q.uri = cmp.Or(u.URI, q.uri)
	return u, q
}

// argumentsOf reads the arguments that name a skill or a file of one, by all the contracts.
func argumentsOf(arguments json.RawMessage) (q question) {
	var a struct {
		Name      string `json:"name"`
		Command   string `json:"command"`
		SkillName string `json:"skill_name"`
		FilePath  string `json:"file_path"`
		URI       string `json:"uri"`
	}
	_ = json.Unmarshal(arguments, &a) // what is malformed asks for nothing
	q = question{name: cmp.Or(a.Name, a.Command, a.SkillName), uri: a.URI, file: a.FilePath}
	if name := strings.TrimSpace(q.name); q.uri == "" && len(name) > len(skill.Scheme) && strings.EqualFold(name[:len(skill.Scheme)], skill.Scheme) {
		q.name, q.uri = "", name
	}
	return q
}

// eventOf is a use for the audit log.
func (s *Server) eventOf(ctx context.Context, u Use, address string, q *question, trace *reads.Trace, failed bool) audit.Event {
	e := audit.Event{
		Surface: audit.MCP, Subject: u.Subject.Name, Client: display.RedactURI(u.Client), Address: address, Method: u.Method,
		Asked: display.RedactURI(cmp.Or(q.uri, q.name)), File: display.RedactURI(q.file), Result: audit.OK,
	}
	if u.Method == "tools/call" {
		e.Tool = display.RedactURI(u.Name)
	}
	if failed {
		e.Result = s.resultOf(ctx, u, q, trace)
		return e // what was read was not given out
	}
	e.Loaded = httpd.LoadsOf(trace)
	return e
}

// resultOf says what became of a request that was not answered with what it asked
// for. The client is told of a skill out of its sight what it is told of one that
// there is not; here the two are told apart.
func (s *Server) resultOf(ctx context.Context, u Use, q *question, trace *reads.Trace) audit.Result {
	if q.name == "" && q.uri == "" || ctx.Err() != nil {
		return audit.Failed
	}
	seen := u.View.Snapshot != nil && find(u.View, q) != nil
	if !seen {
		whole, err := s.catalog.View(catalog.WithFilter(ctx, nil))
		switch {
		case err != nil:
			return audit.Failed
		case find(whole, q) != nil:
			return audit.Denied
		case whole.Unsure() != nil: // it may be there
			return audit.Failed
		}
		return audit.NotFound
	}
	e := find(u.View, q)
	_, err := skill.FilePath(q.file)
	switch {
	case u.Method == "tools/call" && !e.ModelInvocable, u.Method == "prompts/get" && !e.UserInvocable:
		return audit.Denied
	case q.file != "" && errors.Is(err, skill.ErrOutside):
		return audit.Denied
	}
	return faultOf(trace.Fault(), q.file != "" || u.Method != "tools/call")
}

// faultOf is how a request for something that is in sight failed. If nothing was
// opened, it asked for what is not there, or for nothing.
func faultOf(fault error, forFile bool) audit.Result {
	switch {
	case errors.Is(fault, skill.ErrOutside):
		return audit.Denied
	case errors.Is(fault, fs.ErrNotExist), errors.Is(fault, skill.ErrNotRegular), fault == nil && forFile:
		return audit.NotFound
	}
	return audit.Failed
}

// find is the skill that a request asks about.
func find(v catalog.View, q *question) *catalog.Entry {
	if q.uri != "" {
		uri, err := skill.ParseURI(strings.TrimSpace(q.uri))
		if err != nil {
			return nil
		}
		e, _ := v.At(uri)
		return e
	}
	if e := v.Named(q.name); e != nil {
		return e
	}
	if e := v.ServedInFolder(q.name); e != nil {
		return e
	}
	return v.InFolder(q.name)
}
