//go:build linux

package deploy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// machine is a simulated machine on which the commands of a page run. Its files are in the folder
// root. testdata/machine.sh replaces programs that a test may not run.
type machine struct {
	*testing.T
	root       string
	knack      string // the port of knack
	prometheus string // the port of Prometheus
	shell      io.WriteCloser
	out        *bufio.Scanner
	ran        int
}

// newMachine starts a shell as root in a clone of the repository.
func newMachine(t *testing.T) *machine {
	t.Helper()
	for _, program := range []string{"bash", "curl", "openssl", "prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal("no ", program, "; .ci/programs installs it")
			}
			t.Skip("no ", program, "; .ci/programs installs it")
		}
	}
	repository, err := filepath.Abs("..")
	must(t, err)
	m := &machine{T: t, root: t.TempDir(), knack: freePort(t), prometheus: freePort(t)}
	programs, clone := filepath.Join(m.root, "programs"), filepath.Join(m.root, "clone")
	for _, dir := range []string{programs, clone, filepath.Join(m.root, "usr/local/bin"), filepath.Join(m.root, "etc/systemd/system")} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	for _, name := range []string{"systemctl", "journalctl", "apt-get", "groupadd", "chgrp", "chown"} {
		must(t, os.Symlink(filepath.Join(repository, "deploy/testdata/machine.sh"), filepath.Join(programs, name)))
	}
	// The clone has links, so that go build writes its files there and not into the repository.
	entries, err := os.ReadDir(repository)
	must(t, err)
	for _, e := range entries {
		must(t, os.Symlink(filepath.Join(repository, e.Name()), filepath.Join(clone, e.Name())))
	}
	cmd := exec.CommandContext(t.Context(), "bash")
	cmd.Dir = clone
	cmd.Env = append(os.Environ(), "PATH="+programs+":"+filepath.Join(m.root, "usr/local/bin")+":"+os.Getenv("PATH"),
		"ROOT="+m.root, "PROMETHEUS_PORT="+m.prometheus, "GOFLAGS=-buildvcs=false", "KNACK_DIRS=")
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = cmd.Stdout
	m.out = bufio.NewScanner(out)
	m.shell, err = cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		m.shell.Close()
		_ = cmd.Wait()
		m.halt()
	})
	return m
}

// freePort returns a port of the loopback address at which no program listens now.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	return strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
}

// halt ends the machine's services.
func (m *machine) halt() {
	files, _ := filepath.Glob(filepath.Join(m.root, "run/*.pid"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		pid, wrong := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil || wrong != nil {
			m.Error(file, err, wrong)
			continue
		}
		_ = syscall.Kill(pid, syscall.SIGTERM)
		testwait.Until(m, func() bool { return syscall.Kill(pid, 0) != nil }, file, "does not end")
	}
}

// places matches the system folders in a command that run replaces with folders below m.root.
var places = regexp.MustCompile(`(^|[^\w./-])/(usr/local/bin|etc/knack|etc/prometheus|etc/systemd|srv|var/log/knack|var/lib/knack)\b`)

// run runs a block of commands in the machine's shell, and returns their output.
func (m *machine) run(block string) string {
	m.Helper()
	m.ran++
	block = places.ReplaceAllString(block, "${1}"+m.root+"/${2}")
	block = strings.NewReplacer("8443", m.knack, "9090", m.prometheus).Replace(block)
	file := filepath.Join(m.root, fmt.Sprintf("block-%d.sh", m.ran))
	put(m.T, file, block)
	end := fmt.Sprintf("block %d has run", m.ran)
	_, err := fmt.Fprintf(m.shell, "set -euo pipefail\n. %s </dev/null\nset +e\necho %s\n", file, end)
	must(m.T, err)
	var out strings.Builder
	for m.out.Scan() {
		if m.out.Text() == end {
			return out.String()
		}
		out.WriteString(m.out.Text() + "\n")
	}
	journal, _ := os.ReadFile(filepath.Join(m.root, "run/knack.journal"))
	m.Fatalf("these commands fail:\n%s\nthey print:\n%s\nthe journal:\n%s", block, &out, journal)
	return ""
}

// TestRunning follows doc/running.md on an empty machine. It runs each command in the order of the
// page, with the programs that the page requires. It checks that two users then see different
// skills, and that the audit log has their requests. A real Prometheus must have the metrics, so
// that each query of the dashboard gives data.
func TestRunning(t *testing.T) {
	testwait.Slow(t)
	t.Parallel()
	page, err := os.ReadFile("../doc/running.md")
	must(t, err)
	m := newMachine(t)
	printed := map[string]string{} // by the first words that identify a block
	known := []string{"go build", "knack token new", "openssl", "knack.yaml <<'END'", "systemctl enable", "ask anna", "systemctl reload knack", "apt-get"}
	_, section, _ := strings.Cut(string(page), "\n## From an empty machine\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := strings.Split(section, "```sh\n")[1:]
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		out := m.run(block)
		for _, word := range known {
			if strings.Contains(block, word) {
				printed[word] = out
			}
		}
	}
	if len(printed) != len(known) || len(blocks) != len(known) {
		t.Fatalf("the section has %d blocks, of which the test knows %d", len(blocks), len(printed))
	}
	if out := printed["knack.yaml <<'END'"]; !strings.HasSuffix(out, "knack.yaml: nothing is wrong\n") {
		t.Errorf("config check: %s", out)
	}
	if out := printed["systemctl enable"]; !strings.HasSuffix(out, "ok\n") { // curl reports failed attempts before
		t.Errorf("readyz: %s", out)
	}
	lines := strings.Split(printed["ask anna"], "\n")
	var seen [2][]string
	for i := range seen {
		seen[i] = namesIn(t, lines[i])
	}
	if diff := cmp.Diff([2][]string{{"house-style", "invoices"}, {"house-style", "quotas"}}, seen); diff != "" {
		t.Errorf("anna and bert see (-want +got)\n%s", diff)
	}
	audit := filepath.Join(m.root, "var/log/knack/audit.log")
	has := func(texts ...string) {
		t.Helper()
		testwait.Until(t, func() bool {
			data, _ := os.ReadFile(audit)
			for line := range strings.Lines(string(data)) {
				missing := false
				for _, text := range texts {
					missing = missing || !strings.Contains(line, text)
				}
				if !missing {
					return true
				}
			}
			return false
		}, texts, "is not in the audit log")
	}
	has(`"subject":"anna"`, `"asked":"/api/v1/skills"`)
	has(`"subject":"bert"`, `"asked":"/api/v1/skills"`)
	has(`"surface":"server"`, `"method":"reload"`, `"result":"ok"`)
	if got := namesIn(t, m.run("ask anna '/api/v1/skills?fields=name'")); !cmp.Equal(got, []string{"house-style", "invoices", "quotas"}) {
		t.Errorf("after the reload, anna sees %q", got)
	}
	usageFile := filepath.Join(m.root, "var/lib/knack/usage.json")
	if data, err := os.ReadFile(usageFile); err != nil || !strings.Contains(string(data), `"since"`) {
		t.Errorf("the counts of usage: %s %v", data, err)
	}
	m.checkDashboard()
}

// namesIn returns the names of the skills in an answer of the API.
func namesIn(t *testing.T, answer string) (names []string) {
	t.Helper()
	var list struct{ Skills []struct{ Name string } }
	if err := json.Unmarshal([]byte(answer), &list); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	for _, s := range list.Skills {
		names = append(names, s.Name)
	}
	return names
}

// checkDashboard runs the queries of deploy/grafana.json while clients call the server, and checks
// that each gives a number. TestSourceBoard runs the queries about sources.
func (m *machine) checkDashboard() {
	m.Helper()
	queries := queriesOf(m.T)
	if len(queries) < 25 {
		m.Fatalf("the dashboard has only %d queries", len(queries))
	}
	maps.DeleteFunc(queries, func(expr, _ string) bool { return aboutSources(expr) })
	client := insecure(m.T)
	token := strings.TrimSpace(m.run("cat anna.token"))
	use := func() {
		const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"skill","arguments":{"name":"invoices"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}}}`
		for _, token := range []string{token, "unknown"} {
			r, err := http.NewRequestWithContext(m.Context(), http.MethodPost, "https://127.0.0.1:"+m.knack+"/mcp", strings.NewReader(call))
			must(m.T, err)
			for key, value := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "skill"} {
				r.Header.Set(key, value)
			}
			resp, err := client.Do(r)
			must(m.T, err)
			resp.Body.Close()
		}
	}
	for expr, panel := range queries {
		var answer string
		testwait.Until(m, func() bool {
			use()
			var some bool
			some, answer = m.query(strings.NewReplacer("$__rate_interval", "20s", "$instance", ".*").Replace(expr))
			return some
		}, panel, expr, func() string { return answer + m.journal() })
	}
}

// aboutSources reports whether a query gives figures only if a server follows sources.
func aboutSources(expr string) bool { return strings.Contains(expr, "knack_source_") }

// queriesOf returns the queries of deploy/grafana.json, each with its panel.
func queriesOf(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("grafana.json")
	must(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct{ List []struct{ Definition string } }
	}
	must(t, json.Unmarshal(data, &dashboard))
	queries := map[string]string{} // the panel of each query
	for _, p := range dashboard.Panels {
		for _, q := range p.Targets {
			queries[q.Expr] = p.Title
		}
	}
	labels := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`)
	for _, v := range dashboard.Templating.List {
		if match := labels.FindStringSubmatch(v.Definition); match != nil {
			queries["count by ("+match[2]+") ("+match[1]+")"] = "variable"
		} else if v.Definition != "" {
			t.Errorf("the test knows no variable of the form %s", v.Definition)
		}
	}
	return queries
}

// query reports whether Prometheus has a number for a query, and returns its answer. It fails the
// test if the query is invalid.
func (m *machine) query(expr string) (some bool, answer string) {
	code, body, err := get(m.Context(), http.DefaultClient, "http://127.0.0.1:"+m.prometheus+"/api/v1/query?query="+url.QueryEscape(expr), "")
	if err != nil || code != http.StatusOK {
		m.Fatalf("%s: %d %v %s", expr, code, err, body)
	}
	var result struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	must(m.T, json.Unmarshal([]byte(body), &result))
	for _, r := range result.Data.Result {
		text, _ := r.Value[1].(string)
		if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(n) {
			some = true
		}
	}
	return some, body
}

// journal returns Prometheus's log.
func (m *machine) journal() string {
	data, _ := os.ReadFile(filepath.Join(m.root, "run/prometheus.journal"))
	return "\n" + string(data)
}
