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
	for name, line := range map[string]string{
		"core": `{"jsonrpc":"2.0","id":1,"method":"resources/directory/read","params":{"uri":"skill://slow"}}`,
		"SDK":  `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"skill://slow/wait.txt"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := newGate()
			root := tree(t, map[string]string{"slow/SKILL.md": skillMD("slow", "Slow.", ""), "slow/wait.txt": ""})
			c := catalog.New([]catalog.Source{gated{folder(root), gate}}, catalog.Options{})
			must(t, c.Refresh(t.Context()))
			in, client := io.Pipe()
			ended := make(chan error, 1)
			go func() {
				ended <- serve(t, c).Run(context.Background(), &mcpserver.StdioTransport{In: in, Out: io.Discard, DrainTimeout: 50 * time.Millisecond})
			}()
			_, err := io.WriteString(client, pipeHello+"\n"+line+"\n")
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
		})
	}
}

// TestCallThatHangsIsLogged checks that a call that is cancelled while its disk hangs still has an
// event for the audit log.
func TestCallThatHangsIsLogged(t *testing.T) {
	gate := newGate()
	root := tree(t, map[string]string{"slow/SKILL.md": skillMD("slow", "Slow.", ""), "slow/wait.txt": ""})
	c := catalog.New([]catalog.Source{gated{folder(root), gate}}, catalog.Options{})
	must(t, c.Refresh(t.Context()))
	events := make(chan event.Event, 1)
	server := serve(t, c, func(o *mcpserver.Options) {
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
	_, err := io.WriteString(client, pipeHello+"\n")
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
