package mcpserver

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/mcpserver/internal/notify"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// NewHTTPWithout is NewHTTP without the core: the SDK has every call.
func NewHTTPWithout(s *Server, o HTTPOptions) (*HTTP, error) {
	return newHTTP(s, o, func(wire.Call, *wire.Params, httpguard.Caller, *mcp.InitializeParams) (wire.Work, bool) {
		return nil, false
	})
}

// RunWithout is Run without the core: the SDK has every call.
func (s *Server) RunWithout(ctx context.Context, t *StdioTransport) error {
	p := &pipe{server: s}
	return s.run(ctx, t.transport(nil, p.refused()), p)
}

// RunCounting is Run, and taken hears of each call that the core takes.
func (s *Server) RunCounting(ctx context.Context, t *StdioTransport, taken func()) error {
	p := &pipe{server: s}
	return s.run(ctx, t.transport(func(c wire.Call) (wire.Work, bool) {
		work, ok := p.take(c)
		if ok {
			taken()
		}
		return work, ok
	}, p.refused()), p)
}

// NewHTTPCounting is NewHTTP, and taken hears of each call that the core takes.
func NewHTTPCounting(s *Server, o HTTPOptions, taken func()) (*HTTP, error) {
	return newHTTP(s, o, func(c wire.Call, p *wire.Params, from httpguard.Caller, init *mcp.InitializeParams) (wire.Work, bool) {
		work, ok := s.take(c, p, from, init)
		if ok {
			taken()
		}
		return work, ok
	})
}

// SetRoom has answers share another budget. It is called before [NewHTTP].
func (s *Server) SetRoom(b *limit.Budget) { s.memory = b }

// CheckEvery sets how often files with a subscriber are looked at.
func (s *Server) CheckEvery(d time.Duration) {
	o := s.subscriptionOptions()
	o.Period = d
	s.notifier.Files = notify.New[*mcp.ServerSession](o)
}

// DivideSubscriptions makes the bounds of subscriptions n times smaller.
func (s *Server) DivideSubscriptions(n int) (all, own int) {
	o := s.subscriptionOptions()
	o.MaxFiles, o.MaxOwn = o.MaxFiles/n, o.MaxOwn/n
	s.notifier.Files = notify.New[*mcp.ServerSession](o)
	return o.MaxFiles, o.MaxOwn
}

// Subscriptions is how many files have a subscriber.
func (s *Server) Subscriptions() int { return s.notifier.Files.Len() }

// WaitForRoots has the first calls wait longer for a client's roots.
func (s *Server) WaitForRoots(d time.Duration) { s.roots.grace = d }

// WaitForSkills has the first answers wait no longer than d until all skills were read.
func (s *Server) WaitForSkills(d time.Duration) { s.grace = d }

// WaitForFirstScan has the server give roots up that are still not read after d.
func (h *HTTP) WaitForFirstScan(d time.Duration) { h.firstScan = d }
