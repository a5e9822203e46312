package console

import (
	"fmt"
	"sync"
	"time"
)

// noticeDelay is the time after which a command at a terminal says what it waits for.
const noticeDelay = 2 * time.Second

// ShowWait tells a person at a terminal what a command waits for, if that takes longer than
// a moment. Calling done ends this.
func ShowWait(env *Env, what string) (done func()) {
	if !env.StderrTerminal {
		return func() {}
	}
	var mu sync.Mutex
	var said, ended bool
	t := time.AfterFunc(noticeDelay, func() {
		mu.Lock()
		defer mu.Unlock()
		if said = !ended; said {
			fmt.Fprintf(env.Stderr, "%s; Ctrl-C ends it", what)
		}
	})
	return func() {
		t.Stop()
		mu.Lock()
		defer mu.Unlock()
		if ended = true; said {
			fmt.Fprint(env.Stderr, "\r\x1b[K")
		}
	}
}
