package mcpserver_test

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestUpstreamRefusesInitializeBehindACall(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	in, to := io.Pipe()
	from, out := io.Pipe()
	session, err := s.Connect(t.Context(), &mcp.IOTransport{Reader: in, Writer: out}, nil)
	must(t, err)
	defer session.Close()
	defer to.Close()
	p := &pipes{to, bufio.NewReader(from)}
	if said := p.ask(t, callText("1", "tools/list", "{"+doorMeta+"}")); !strings.Contains(said, `"result"`) {
		t.Fatal(said)
	}
	if said := p.ask(t, strings.Replace(initializeWith, "$", legacy, 1)); !strings.Contains(said, `"error"`) {
		t.Errorf("upstream lets a client begin behind a call of 2026-07-28: server/discover may be the SDK's: %s", said)
	}
}
