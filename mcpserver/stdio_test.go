package mcpserver_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/mcpserver"
)

// TestRunDoesNotWaitForHandlers checks that Run returns even if the work of a call does not end.
func TestRunDoesNotWaitForHandlers(t *testing.T) {
	t.Parallel()
	gate := newGate()
	in, client := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- serve(t, slowSkill(t, gate)).Run(context.Background(), &mcpserver.StdioTransport{In: in, Out: io.Discard, DrainTimeout: 50 * time.Millisecond})
	}()
	_, err := io.WriteString(client, initialize("1", legacy)+"\n"+initialized+"\n"+`{"jsonrpc":"2.0","id":2,"method":"resources/directory/read","params":{"uri":"skill://slow"}}`+"\n")
	must(t, err)
	<-gate.begun
	client.Close()
	select {
	case err := <-ended:
		if !errors.Is(err, mcpserver.ErrUnanswered) {
			t.Errorf("got %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it waits for a handler that hangs")
	}
	close(gate.open)
}

// slowSkill returns a catalogue with the skill slow, of which the gate blocks a file.
func slowSkill(t *testing.T, gate *gate) *catalog.Catalog {
	t.Helper()
	root := tree(t, map[string]string{"slow/SKILL.md": skillMD("slow", "Slow.", ""), "slow/wait.txt": ""})
	return scanned(t, gated{folder(root), gate})
}

// TestCallThatHangsIsLogged checks that a call that is cancelled while its disk hangs still has an
// event for the audit log.
func TestCallThatHangsIsLogged(t *testing.T) {
	gate := newGate()
	events := make(chan event.Event, 1)
	server := serve(t, slowSkill(t, gate), func(o *mcpserver.Options) {
		o.Events, o.Audit = []mcpserver.Sink{sinkFunc(func(e *mcpserver.Event) {
			if e.Method == "resources/read" {
				events <- *e
			}
		})}, true
	})
	in, client := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- server.Run(context.Background(), &mcpserver.StdioTransport{In: in, Out: out, DrainTimeout: 50 * time.Millisecond})
	}()
	_, err := io.WriteString(client, initialize("1", legacy)+"\n"+initialized+"\n")
	must(t, err)
	_, err = bufio.NewReader(answers).ReadString('\n') // the answer to initialize
	must(t, err)
	go io.Copy(io.Discard, answers)
	_, err = io.WriteString(client, `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"skill://slow/wait.txt"}}`+"\n")
	must(t, err)
	<-gate.begun
	_, err = io.WriteString(client, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`+"\n")
	must(t, err)
	select {
	case e := <-events:
		if e.Result != event.Failed {
			t.Errorf("got %+v", e)
		}
	case <-time.After(20 * time.Second):
		t.Error("the log does not hear of it")
	}
	client.Close()
	<-ended
	close(gate.open)
}
