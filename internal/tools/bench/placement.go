package main

// placement says on which processors a client and its servers run. Waking another processor
// takes longer than a short call. Left alone, the system puts the two together or apart by
// chance, and a ratio of two sides shows which of them was lucky. A server that has one
// processor from its start runs Go code on one thread at a time, and so does a floor.
type placement struct {
	fixed                  bool
	clientsCPU, serversCPU int // counted among those that this process may use
}

// anywhere leaves the choice to the system.
var anywhere placement

// servers prepares this process for starting the servers, which inherit its processor.
func (p placement) servers() error {
	if !p.fixed {
		return nil
	}
	return pin(p.serversCPU)
}

// client places this process, which is the client, once the servers run.
func (p placement) client() error {
	if !p.fixed {
		return nil
	}
	return pin(p.clientsCPU)
}

// end leaves this process to the system again.
func (p placement) end() {
	if p.fixed {
		_ = unpin()
	}
}
