package mcpserver

import (
	"slices"
	"time"
)

// LookEvery has the files that somebody subscribed to looked at more often than
// users need.
func (s *Server) LookEvery(d time.Duration) { s.subscriptions.period = d }

// DivideSubscriptions makes the bounds of subscriptions n times smaller, and
// returns them.
func (s *Server) DivideSubscriptions(n int) (all, own int) {
	s.subscriptions.max, s.subscriptions.own = maxSubscriptions/n, maxOwn/n
	return s.subscriptions.max, s.subscriptions.own
}

// Subscriptions is how many files somebody is subscribed to.
func (s *Server) Subscriptions() int {
	s.subscriptions.mu.Lock()
	defer s.subscriptions.mu.Unlock()
	return len(s.subscriptions.watched)
}

// WaitForRoots has the first calls wait longer for a client's roots.
func (s *Server) WaitForRoots(d time.Duration) { s.roots.grace = d }

// WaitForSkills has the first answers wait no longer than d until all skills were read.
func (s *Server) WaitForSkills(d time.Duration) { s.grace = d }

// SetPlaceGrace is called before the first call.
func (s *Server) SetPlaceGrace(d time.Duration) { s.places.grace = d }

// Recalled is how many answers were given again without the SDK.
func (s *Server) Recalled() uint64 { return s.memory.recalled.Load() }

// Forget drops the answers that are kept.
func (s *Server) Forget() { s.memory.clear() }

// PagesAhead is how many pages of skills/list are kept that nobody has asked for yet; they are
// all made.
func (s *Server) PagesAhead() int {
	s.pages.mu.Lock()
	ahead := slices.Clone(s.pages.ahead)
	s.pages.mu.Unlock()
	for _, p := range ahead {
		<-p.done
	}
	return len(ahead)
}

// Splices is how many answers were to be put together, and how many of these calls
// are under way.
func (s *Server) Splices() (begun uint64, left int) {
	s.splices.mu.Lock()
	defer s.splices.mu.Unlock()
	return s.splices.last, len(s.splices.of)
}

// Splice begins one, and returns its header; part is what was put in.
func (s *Server) Splice() (header, mark string, part func() []byte) {
	one := s.splices.begin()
	return spliceHeader, one.mark, func() []byte { return one.part }
}

// WaitForFirstLook has the server give roots up that are still not read after d.
func (h *HTTP) WaitForFirstLook(d time.Duration) { h.firstLook = d }
