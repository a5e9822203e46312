//go:build unix

package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestMeasures compares all metrics after a session with calls, failures and refusals, and checks
// them with promtool.
func TestMeasures(t *testing.T) {
	dir, etc := t.TempDir(), t.TempDir()
	put(t, filepath.Join(dir, "one/SKILL.md"), "---\nname: one\ndescription: One.\n---\n")
	token, line := access.NewToken()
	put(t, filepath.Join(etc, "knack.yaml"), "access:\n  tokens:\n    - {hash: "+line+", subject: anna}\naudit: {to: audit.log}\n")
	url, _ := servingLog(t, "--dir", dir, "--config", filepath.Join(etc, "knack.yaml"))
	a := &asker{t: t, url: url, log: filepath.Join(etc, "audit.log")}
	a.call("2025-11-25", token, "initialize", "", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"old","version":"1"}}`)
	a.call("2025-11-25", token, "notifications/initialized", "", `{}`)
	for range 3 {
		a.call("2026-07-28", token, "tools/call", "skill", `{"name":"skill","arguments":{"name":"one"}}`)
		a.call("2026-07-28", token, "tools/call", "skill", `{"name":"skill","arguments":{"name":"none"}}`)
	}
	a.call("2026-07-28", token, "resources/read", "skill://none/SKILL.md", `{"uri":"skill://none/SKILL.md"}`)
	a.call("2026-07-28", token, "zqx/zqx", "", `{}`)
	a.send("GET", "/", "", "")                                         // without a token
	a.send("GET", "/api/v1/skills", "wrong", "")                       // with an unknown token
	a.send("GET", "/", token, "", "Host: elsewhere.example")           // with a wrong host
	a.send("POST", "/mcp", token, "{}", "Origin: http://evil.invalid") // with a wrong origin
	a.send("HEAD", "/metrics", "", "")
	a.send("GET", "/nothing", token, "")
	// The log is written in the background, and only written lines count. Each request so far has a
	// line, except notifications/initialized, which needs no decision. The requests for metrics
	// below add more lines.
	const before = 15
	got, asked := "", 0
	testwait.Within(testwait.Patience, func() bool {
		data, err := os.ReadFile(a.log)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Count(data, []byte("\n"))
		_, got, _ = a.send("GET", "/metrics", token, "")
		if lines == before+asked && strings.Contains(got, fmt.Sprintf("\nknack_audit_lines_total %d\n", lines)) {
			return true
		}
		asked++
		return false
	})
	ours := regexp.MustCompile(`(?m)^knack_(?:http_requests_total\{route="/"|mcp_(?:calls|sessions|streams)|http_refusals|audit|reload_success|mcp_call_duration_seconds_count|tls).*$`).FindAllString(got, -1)
	want := []string{
		`knack_http_requests_total{route="/",code="404"} 1`, // stands for unknown addresses
		`knack_mcp_calls_total{method="initialize",outcome="ok"} 1`,
		`knack_mcp_calls_total{method="notifications/initialized",outcome="ok"} 1`,
		`knack_mcp_calls_total{method="resources/read",outcome="error"} 1`,
		`knack_mcp_calls_total{method="tools/call",outcome="error"} 3`, // in the audit log: "not found"
		`knack_mcp_calls_total{method="tools/call",outcome="ok"} 3`,
		`knack_mcp_call_duration_seconds_count{method="initialize"} 1`,
		`knack_mcp_call_duration_seconds_count{method="notifications/initialized"} 1`,
		`knack_mcp_call_duration_seconds_count{method="resources/read"} 1`,
		`knack_mcp_call_duration_seconds_count{method="tools/call"} 6`,
		`knack_http_refusals_total{code="401",reason="no-token"} 2`,
		`knack_http_refusals_total{code="401",reason="token"} 1`,
		`knack_http_refusals_total{code="403",reason="host"} 1`,
		`knack_http_refusals_total{code="403",reason="origin"} 1`,
		"knack_mcp_sessions 1",
		"knack_mcp_streams 0",
		fmt.Sprintf("knack_audit_lines_total %d", before+asked),
		"knack_audit_lost_lines_total 0",
		`knack_reload_success{part="audit-log"} 1`,
		`knack_reload_success{part="settings"} 1`,
	}
	if diff := cmp.Diff(want, ours); diff != "" {
		t.Errorf("-want +got\n%s\n%s", diff, got)
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no promtool (apt-get install prometheus)")
		}
		t.Skip("no promtool (apt-get install prometheus)")
	}
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	cmd.Stdin = bytes.NewReader([]byte(got))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
