package main

// placement assigns processors to the client and to the servers. Waking another processor takes
// longer than a short call. By default, the system places the client and a server on the same
// processor or on different ones by chance. The ratio of two sides then shows only which of them
// was lucky. A server that starts with one processor runs Go code on one thread at a time, and so
// does a floor.
type placement struct {
	fixed                  bool
	clientsCPU, serversCPU int // counted among the processors available to this process
}

// anywhere leaves the choice to the system.
var anywhere placement

// servers pins this process before it starts the servers, which inherit its processor.
func (p placement) servers() error {
	if !p.fixed {
		return nil
	}
	return pin(p.serversCPU)
}

// client pins this process, which is the client, after the servers have started.
func (p placement) client() error {
	if !p.fixed {
		return nil
	}
	return pin(p.clientsCPU)
}

// end lets this process run on all its processors again.
func (p placement) end() {
	if p.fixed {
		_ = unpin()
	}
}
