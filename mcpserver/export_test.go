package mcpserver

import (
	"time"

	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/mcpserver/internal/notify"
)

// SetRoom sets the memory budget that answers share. It must be called before [NewHTTP].
func (s *Server) SetRoom(b *limit.Budget) { s.memory = b }

// CheckEvery sets how often files with a subscriber are checked.
func (s *Server) CheckEvery(d time.Duration) {
	o := s.subscriptionOptions()
	o.Period = d
	s.notifier.Files = notify.New(o)
}

// DivideSubscriptions makes the bounds of subscriptions n times smaller.
func (s *Server) DivideSubscriptions(n int) (all, own int) {
	o := s.subscriptionOptions()
	o.MaxFiles, o.MaxOwn = o.MaxFiles/n, o.MaxOwn/n
	s.notifier.Files = notify.New(o)
	return o.MaxFiles, o.MaxOwn
}

// Subscriptions returns the number of files with a subscriber.
func (s *Server) Subscriptions() int { return s.notifier.Files.Len() }

// WaitForRoots sets how long the first calls wait for a client's roots.
func (s *Server) WaitForRoots(d time.Duration) { s.roots.grace = d }

// WaitForSkills sets how long the first answers wait until all skills were read.
func (s *Server) WaitForSkills(d time.Duration) { s.grace = d }

// WaitForFirstScan sets how long an unread root keeps the server from being ready.
func (h *HTTP) WaitForFirstScan(d time.Duration) { h.firstScan = d }
