package skillsext

import (
	"context"
	"errors"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// These tests pass as long as the SDK (v1.8.0) needs the workarounds in
// doc/conformance.md. When one fails, the SDK has fixed something.

type (
	upstreamParams struct{ mcp.ParamsBase }
	upstreamResult struct {
		mcp.ResultBase
		N float64 `json:"n"`
	}
)

// upstreamSession connects the SDK's client to a plain SDK server, which answers x/y with
// a result of its own.
func upstreamSession(t *testing.T, version string, answer func() *upstreamResult, caps *mcp.ServerCapabilities) *mcp.ClientSession {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{Capabilities: caps})
	err := mcp.AddReceivingCustomMethod(s, "x/y", func(context.Context, *mcp.ServerSession, *upstreamParams) (*upstreamResult, error) {
		return answer(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return upstreamConnect(t, s, version)
}

// upstreamConnect connects the SDK's client to a server.
func upstreamConnect(t *testing.T, s *mcp.Server, version string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	err := mcp.AddSendingCustomMethod[*upstreamParams, *upstreamAnswer](client, "x/y")
	here, there := mcp.NewInMemoryTransports()
	_, err2 := s.Connect(t.Context(), there, nil)
	cs, err3 := client.Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

// upstreamAnswer is a result, undecoded.
type upstreamAnswer struct {
	mcp.ResultBase
	text string
}

func (a *upstreamAnswer) UnmarshalJSON(data []byte) error { a.text = string(data); return nil }

func upstreamAsk(ctx context.Context, cs *mcp.ClientSession) (*upstreamAnswer, error) {
	return mcp.CallCustomMethod[*upstreamParams, *upstreamAnswer](ctx, cs, "x/y", &upstreamParams{})
}

func TestUpstreamCustomResultIsBare(t *testing.T) {
	cs := upstreamSession(t, "2026-07-28", func() *upstreamResult { return &upstreamResult{} }, nil)
	got, err := upstreamAsk(t.Context(), cs)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got.text, "resultType") || strings.Contains(got.text, "ttlMs") {
		t.Errorf("upstream completes the results of custom methods: the era gate in skillsext/handlers.go may go: %s", got.text)
	}
}

func TestUpstreamWritesIntoResults(t *testing.T) {
	shared := &upstreamResult{}
	cs := upstreamSession(t, "2026-07-28", func() *upstreamResult { return shared }, nil)
	if _, err := upstreamAsk(t.Context(), cs); err != nil {
		t.Fatal(err)
	}
	if shared.Meta == nil {
		t.Error("upstream leaves a handler's result alone: skillsext/handlers.go need not copy it")
	}
}

func TestUpstreamNeverAnswersInfinity(t *testing.T) {
	cs := upstreamSession(t, "2025-11-25", func() *upstreamResult { return &upstreamResult{N: math.Inf(1)} }, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if got, err := upstreamAsk(ctx, cs); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("upstream answers what it cannot marshal: %+v, %v", got, err)
	}
}

// go-sdk#1238.
func TestUpstreamHasNoSkills(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "go", "list", "-find", "github.com/modelcontextprotocol/go-sdk/skills").CombinedOutput(); err == nil {
		t.Errorf("upstream has a package for the extension: skillsext may become an import: %s", out)
	}
}
