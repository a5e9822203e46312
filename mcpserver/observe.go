package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/server/audit"
	"github.com/knack-dev/knack/skill"
)

// Use is something that a client did with skills: it asked for the tools (tools/list), called
// one (tools/call), read a resource (resources/read) or took a prompt (prompts/get). With
// [Options.Audit] it is any request.
type Use struct {
	Client string // what it calls itself, or empty
	Method string
	Name   string // of the tool or prompt
	// Arguments are the call's, as they were given.
	Arguments json.RawMessage
	URI       string // of the resource
	Failed    bool   // the answer is an error, or that there is no such skill
	// View is what the call's subject could see when it was answered; empty if it was
	// refused before.
	View    catalog.View
	Subject access.Subject // whose token the call bore
	// Event is the same for the audit log; its zero value without [Options.Audit].
	Event audit.Event
}

// Answered reports whether the client was given what it asked for.
func (u Use) Answered() bool {
	return !u.Failed && (u.Event.Result == "" || u.Event.Result == audit.OK)
}

// observed begins to watch a request for [Options.Observe]. The caller calls the returned
// function after the answer.
func (s *Server) observed(ctx context.Context, r *request) (context.Context, func(failed bool)) {
	if s.observe == nil || !s.audit && !isUse[r.method] || r.method == "ping" || strings.HasPrefix(r.method, "notifications/") {
		return ctx, func(bool) {}
	}
	u, q := useOf(r)
	var trace *catalog.Trace
	if s.audit {
		ctx, trace = catalog.WithTrace(ctx)
	}
	return ctx, func(failed bool) {
		if u.View, _ = s.catalog.View(ctx); !s.audit && u.View.Snapshot == nil {
			return
		}
		if s.audit {
			if failed && r.memory != nil && r.memory.Refused() {
				trace.Failed(skill.ErrBusy)
			}
			call := audit.Call{Asked: q, Method: u.Method, Name: u.Name, Client: u.Client, Address: r.Address, Subject: u.Subject, View: u.View}
			u.Event = call.Event(ctx, s.catalog, trace, failed)
		}
		u.Failed = failed
		s.observe(u)
	}
}

// observeRequest returns the function that observes requests which come to no method, nil
// without an audit log.
func (s *Server) observeRequest() func(who access.Subject, e audit.Event) {
	if !s.audit {
		return nil
	}
	return func(who access.Subject, e audit.Event) { s.observe(Use{Method: e.Method, Subject: who, Event: e}) }
}

// isUse are the methods that are uses of skills.
var isUse = map[string]bool{"tools/list": true, "tools/call": true, "resources/read": true, "prompts/get": true}

func useOf(r *request) (Use, audit.Asked) {
	p := r.params
	u := Use{Method: r.method, Client: r.client.Name, Name: p.Name, Arguments: p.Arguments, URI: p.URI, Subject: r.Subject}
	var q audit.Asked
	switch r.method {
	case "tools/call":
		q = audit.Arguments(p.Arguments)
	case "prompts/get":
		q.Name = p.Name
	}
	q.URI = cmp.Or(u.URI, q.URI)
	return u, q
}
