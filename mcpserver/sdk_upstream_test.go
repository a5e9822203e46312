package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// These tests hold as long as the SDK (v1.8.0) does what the workarounds in
// doc/conformance.md are there for. When one fails, the SDK has fixed something.

type (
	upstreamParams struct{ mcp.ParamsBase }
	upstreamResult struct {
		mcp.ResultBase
		N float64 `json:"n"`
	}
)

// upstreamSession connects the SDK's client to a server of the SDK alone, which
// answers x/y with a result of its own.
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

func TestUpstreamAnswersWhatIsNotDeclared(t *testing.T) {
	cs := upstreamSession(t, "2025-11-25", nil, &mcp.ServerCapabilities{})
	if _, err := cs.ListPrompts(t.Context(), nil); err != nil {
		t.Errorf("upstream refuses what is not declared: mcpserver/server.go need not: %v", err)
	}
	//lint:ignore SA1019 deprecated by the specification, spoken by the clients in use
	if err := cs.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "loud"}); err != nil {
		t.Errorf("upstream refuses levels that are none: setLevel in mcpserver/skipped.go need not: %v", err)
	}
}

// go-sdk#1149.
func TestUpstreamOmitsWhatIsEmpty(t *testing.T) {
	text, err := json.Marshal(&mcp.ResourceContents{URI: "x:y"})
	if err != nil || strings.Contains(string(text), `"text"`) || strings.Contains(string(text), `"blob"`) {
		t.Errorf("upstream sends the text of an empty file: contents in mcpserver/resources.go may send it too: %s, %v", text, err)
	}
}

func TestUpstreamHasNoAnnouncement(t *testing.T) {
	server := reflect.TypeFor[*mcp.Server]()
	for i := range server.NumMethod() {
		if name := server.Method(i).Name; strings.Contains(name, "ListChanged") || strings.Contains(name, "NotifyList") {
			t.Errorf("upstream has %s: ListsChanged in mcpserver/internal/notify/notify.go need not add and remove templates", name)
		}
	}
}

// go-sdk#1238.
func TestUpstreamHasNoSkills(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "go", "list", "-find", "github.com/modelcontextprotocol/go-sdk/skills").CombinedOutput(); err == nil {
		t.Errorf("upstream has a package for the extension: skillsext may become an import: %s", out)
	}
}

// Half of what was measured for a call of a tool: a ping is less.
func TestUpstreamAllocates(t *testing.T) {
	const calls, least = 50, 64 << 10
	cs := upstreamSession(t, "2025-11-25", nil, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		if err := cs.Ping(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / calls; each < least {
		t.Errorf("upstream allocates %d bytes for a ping: the collector's settings in internal/cli may go", each)
	}
}

// Of the standard library, which the SDK points to.
func TestUpstreamCrossOriginProtectionLetsReboundIn(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "http://evil.example/mcp", nil) // a name that now resolves to 127.0.0.1
	r.Header.Set("Origin", "http://evil.example")
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		t.Errorf("upstream refuses rebound names: internal/server/httpguard/origin.go may use it: %v", err)
	}
}

// TestUpstreamTable: each of these tests has one row in the table of workarounds, and each
// row names one of them, and an issue or that no issue was filed.
func TestUpstreamTable(t *testing.T) {
	text, err := os.ReadFile("../doc/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "## What is worked around\n")
	if !ok {
		t.Fatal("doc/conformance.md has no table of workarounds")
	}
	row := regexp.MustCompile("^\\| [^|]+ \\| ([^|]+) \\| [^|]+ \\| `(TestUpstream\\w+)` \\|$")
	issue := regexp.MustCompile(`^(go-sdk#\d+|none filed; reproduced by the test)(, .+)?$`)
	var told []string
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| what the SDK does ") {
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil || !issue.MatchString(m[1]) {
			t.Errorf("a row without an issue or a test of its own: %s", line)
			continue
		}
		told = append(told, m[2])
	}
	var files []string
	for _, pattern := range []string{"*_upstream_test.go", "internal/*/*upstream_test.go"} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	var there []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range regexp.MustCompile(`(?m)^func (TestUpstream\w+)`).FindAllStringSubmatch(string(text), -1) {
			if declared[1] != "TestUpstreamTable" {
				there = append(there, declared[1])
			}
		}
	}
	slices.Sort(told)
	slices.Sort(there)
	if !slices.Equal(told, there) {
		t.Errorf("doc/conformance.md names %q, the tests are %q", told, there)
	}
}
