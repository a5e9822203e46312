package mcpserver

import "time"

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

// WaitForFirstLook has the server give roots up that are still not read after d.
func (h *HTTP) WaitForFirstLook(d time.Duration) { h.firstLook = d }
