package mcpserver

import (
	"bytes"
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/mcpserver/internal/notify"
	"github.com/knack-dev/knack/mcpserver/internal/stdio"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// ErrUnanswered reports that a session ended before its client had every answer: the calls took too
// long, or the client did not read.
var ErrUnanswered = stdio.ErrUnanswered

// StdioTransport speaks MCP over a pair of pipes, one JSON-RPC message a line.
type StdioTransport = stdio.Transport

// Run serves one session over stdio, until its input has ended and its calls are answered, or the
// context ends. It returns an error if the input or the output failed, and [ErrUnanswered] if an
// answer is missing.
func (s *Server) Run(ctx context.Context, over *StdioTransport) error {
	over.Logger = bounded(over.Logger)
	var p *pipe
	defer func() {
		if p != nil {
			p.session.End()
		}
	}()
	return over.Serve(ctx, func(c *stdio.Conn) stdio.Core {
		p = &pipe{session{server: s, ask: c.Ask}}
		p.session.listener.Send, p.session.listener.Lists = c.Send, notify.AllLists
		return p
	})
}

// pipe is the core of a session over stdio.
type pipe struct{ session session }

// Take implements [stdio.Core].
func (p *pipe) Take(m *wire.Message) (wire.Work, *jsonrpc.Error) {
	params, no := wire.ParseParams(m.Method, m.Params)
	x, no := p.session.server.take(m, params, no, &p.session)
	if no != nil {
		return nil, no
	}
	x.Principal = p.session.server.o.Access.Now().PrincipalOf(access.Subject{})
	x.send = p.session.listener.Send
	params.Arguments = bytes.Clone(params.Arguments) // they are part of the line, which is reused
	return x, nil
}

// Hear implements [stdio.Core].
func (p *pipe) Hear(m *wire.Message) { _ = p.session.server.hear(m, &p.session) } // a notification gets no answer

// Refused implements [stdio.Core]: it records a call that reaches no method.
func (p *pipe) Refused(method string, why *jsonrpc.Error) {
	client, _ := p.session.begunBy()
	e := Event{Surface: event.MCP, Client: client.Name, Method: display.RedactURI(method), Result: event.Failed}
	if why.Code == wire.CodeBusy {
		e.Result = event.Limited
	}
	p.session.server.events.Record(&e)
}
