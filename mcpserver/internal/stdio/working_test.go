package stdio

import (
	"bytes"
	"context"
	"sync"
	"testing"
)

// TestWorkEnds checks that the context of a call's work ends with the call and with the session.
func TestWorkEnds(t *testing.T) {
	for end, do := range map[string]func(*Conn, *working){
		"the work":    func(_ *Conn, w *working) { w.cancel() },
		"the session": func(c *Conn, _ *working) { c.close(errClosed) },
	} {
		t.Run(end, func(t *testing.T) {
			c := (&Transport{In: &bytes.Buffer{}, Out: &bytes.Buffer{}}).conn()
			early, late := &working{conn: c}, &working{conn: c}
			select {
			case <-early.Done():
				t.Error("it has ended before it began")
			default:
			}
			child, cancel := context.WithCancel(context.WithValue(early, pieces{}, 1))
			defer cancel()
			if early.Err() != nil || late.Err() != nil || child.Err() != nil {
				t.Error("an error before the end")
			}
			var waits sync.WaitGroup
			for range 8 {
				waits.Go(func() { <-early.Done() })
			}
			waits.Go(func() { <-child.Done() })
			do(c, early)
			do(c, late)
			waits.Wait()
			<-late.Done()
			if early.Err() != context.Canceled || late.Err() != context.Canceled || context.Cause(child) != context.Canceled {
				t.Errorf("%v %v %v", early.Err(), late.Err(), context.Cause(child))
			}
			early.cancel()
			late.cancel() // again
			<-early.Done()
		})
	}
}
