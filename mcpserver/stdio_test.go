package mcpserver_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
)

// A handler that does not end does not keep Run, through whichever door it was reached.
func TestRunDoesNotWaitForHandlers(t *testing.T) {
	for name, line := range map[string]string{
		"core": `{"jsonrpc":"2.0","id":1,"method":"resources/directory/read","params":{"uri":"skill://slow"}}`,
		"SDK":  `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"skill://slow/wait.txt"}}`,
	} {
		t.Run(name, func(t *testing.T) {
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
