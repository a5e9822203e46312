package main

// placement assigns processors to a client and its servers. Waking another processor takes longer
// than a short call. By default, the system puts the two together or apart by chance, and a ratio
// of two sides shows which of them was lucky. A server that has one processor from its start runs
// Go code on one thread at a time, and so does a floor.
type placement struct {
	fixed                  bool
	clientsCPU, serversCPU int // counted among the processors available to this process
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
