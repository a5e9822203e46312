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

// Use is one use of skills by a client. The client listed the tools (tools/list), called one
// (tools/call), read a resource (resources/read) or got a prompt (prompts/get). With
// [Options.Audit] every request is a Use.
type Use struct {
	Client string // the client's own name, or empty
	Method string
	Name   string // of the tool or prompt
	// Arguments are the call's arguments, as given.
	Arguments json.RawMessage
	URI       string // of the resource
	Failed    bool   // the answer is an error, or reports an unknown skill
	// View is the subject's view when the call was answered, or empty if the call was refused
	// before that.
	View    catalog.View
	Subject access.Subject // subject of the call's token
	// Event is the event for the audit log; zero without [Options.Audit].
	Event audit.Event
}

// Answered reports whether the client got the requested answer.
func (u Use) Answered() bool {
	return !u.Failed && (u.Event.Result == "" || u.Event.Result == audit.OK)
}

// observed begins to observe a request for [Options.Observe]. The caller calls the returned
// function after the answer.
func (s *Server) observed(ctx context.Context, x *exchange) (context.Context, func(failed bool)) {
	if s.observe == nil || !s.audit && !isUse[x.method] || x.method == "ping" || strings.HasPrefix(x.method, "notifications/") {
		return ctx, func(bool) {}
	}
	u, q := useOf(x)
	var trace *catalog.Trace
	if s.audit {
		ctx, trace = catalog.WithTrace(ctx)
	}
	return ctx, func(failed bool) {
		if u.View, _ = s.catalog.View(ctx); !s.audit && u.View.Snapshot == nil {
			return
		}
		if s.audit {
			if failed && x.memory != nil && x.memory.Refused() {
				trace.Failed(skill.ErrBusy)
			}
			call := audit.Call{Asked: q, Method: u.Method, Name: u.Name, Client: u.Client, Address: x.Address, Subject: u.Subject, View: u.View}
			u.Event = call.Event(ctx, s.catalog, trace, failed)
		}
		u.Failed = failed
		s.observe(u)
	}
}

// observeRequest returns the function that observes requests which reach no method, or nil without
// an audit log.
func (s *Server) observeRequest() func(who access.Subject, e audit.Event) {
	if !s.audit {
		return nil
	}
	return func(who access.Subject, e audit.Event) { s.observe(Use{Method: e.Method, Subject: who, Event: e}) }
}

// isUse are the methods that count as uses of skills.
var isUse = map[string]bool{"tools/list": true, "tools/call": true, "resources/read": true, "prompts/get": true}

func useOf(x *exchange) (Use, audit.Asked) {
	p := x.params
	u := Use{Method: x.method, Client: x.client.Name, Name: p.Name, Arguments: p.Arguments, URI: p.URI, Subject: x.Subject}
	var q audit.Asked
	switch x.method {
	case "tools/call":
		q = audit.Arguments(p.Arguments)
	case "prompts/get":
		q.Name = p.Name
	}
	q.URI = cmp.Or(u.URI, q.URI)
	return u, q
}
