package stdio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// These tests hold as long as the SDK has the bugs that StdioTransport is there
// for. When one fails, the SDK has fixed something.

func TestUpstreamStdioLosesAnswersAtEOF(t *testing.T) {
	input := strings.Join([]string{stdioInit, stdioReady, stdioCall("1", "nap")}, "\n") + "\n"
	server := newStdioTools()
	// One lost answer in any of the tries shows the bug, however slow the machine.
	for range 20 {
		var out bytes.Buffer
		_ = server.Run(context.Background(), &mcp.IOTransport{
			Reader: io.NopCloser(strings.NewReader(input)), Writer: stdioNopCloser{&out},
		})
		if bytes.Count(out.Bytes(), []byte("\n")) < 2 {
			return
		}
	}
	t.Error("upstream fixed go-sdk#1061: mcpserver/internal/stdio may go")
}

func TestUpstreamStdioEndsAtMalformedLine(t *testing.T) {
	for range 5 {
		in, client := io.Pipe()
		var out bytes.Buffer
		done := make(chan error, 1)
		go func() {
			done <- newStdioTools().Run(context.Background(), &mcp.IOTransport{Reader: in, Writer: stdioNopCloser{&out}})
		}()
		_, err := io.WriteString(client, "oops\n")
		if err == nil {
			_, err = io.WriteString(client, stdioPing("1")+"\n")
		}
		client.Close()
		// Either the pipe was closed under us, or the session ended with an error.
		if runErr := <-done; err != nil || runErr != nil && !errors.Is(runErr, io.EOF) {
			return
		}
	}
	t.Error("upstream fixed go-sdk#1209: mcpserver/internal/stdio may go")
}

type stdioNopCloser struct{ io.Writer }

func (stdioNopCloser) Close() error { return nil }
