//go:build unix

package cli_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/cli"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// asker sends requests to a server and reads its audit log.
type asker struct {
	t       *testing.T
	url     string // of the MCP endpoint
	log     string // the path of the log
	session string
	want    []string // all expected lines, without their times
}

// expect waits for the log lines of a step, before the next step begins.
func (a *asker) expect(lines ...string) {
	a.t.Helper()
	a.want = append(a.want, lines...)
	var data []byte
	var err error
	testwait.Until(a.t, func() bool {
		data, err = os.ReadFile(a.log)
		return err == nil && bytes.Count(data, []byte("\n")) >= len(a.want)
	}, func() string {
		return fmt.Sprintf("%v; the audit log has\n%s\nwant\n%s", err, data, strings.Join(a.want, "\n"))
	})
}

// send sends a request. It returns the status, the body and the headers of the answer.
func (a *asker) send(method, path, token, body string, headers ...string) (int, string, http.Header) {
	a.t.Helper()
	if token != "" {
		headers = append([]string{"Authorization: Bearer " + token}, headers...)
	}
	r := request(a.t, http.DefaultClient, method, strings.TrimSuffix(a.url, "/mcp")+path, body, headers...)
	return r.code, r.body, r.header
}

// call calls an MCP method as a client of the protocol version era does, and returns the body of
// the answer.
func (a *asker) call(era, token, method, name, params string) string {
	a.t.Helper()
	headers := []string{"Content-Type: application/json", "Accept: application/json, text/event-stream", "Mcp-Protocol-Version: " + era}
	if era == "2026-07-28" {
		params = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + era + `","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"new","version":"1"}},` + strings.TrimPrefix(params, "{")
		params = strings.Replace(params, ",}", "}", 1)
		headers = append(headers, "Mcp-Method: "+method)
		if name != "" {
			headers = append(headers, "Mcp-Name: "+name)
		}
	} else if a.session != "" {
		headers = append(headers, "Mcp-Session-Id: "+a.session)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	if strings.HasPrefix(method, "notifications/") {
		body = strings.Replace(body, `"id":1,`, "", 1)
	}
	_, text, header := a.send("POST", "/mcp", token, body, headers...)
	if id := header.Get("Mcp-Session-Id"); id != "" {
		a.session = id
	}
	return text
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// auditTimes matches the time at the beginning of each line.
var auditTimes = regexp.MustCompile(`(?m)^\{"time":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)",`)

// withoutTimes checks the times of a log and removes them.
func withoutTimes(t *testing.T, log string) string {
	t.Helper()
	last := time.Time{}
	for _, m := range auditTimes.FindAllStringSubmatch(log, -1) {
		at, err := time.Parse(time.RFC3339Nano, m[1])
		if err != nil || at.Before(last.Add(-time.Second)) || time.Since(at) > time.Hour {
			t.Errorf("%s: %v", m[1], err)
		}
		last = at
	}
	return auditTimes.ReplaceAllString(log, "{")
}

// TestAudit compares the whole audit log of several clients, which use every surface, with the
// expected lines.
func TestAudit(t *testing.T) {
	dir, etc := t.TempDir(), t.TempDir()
	const common, secret, note = "---\nname: common\ndescription: One.\n---\nWORDS\n", "---\nname: secret\ndescription: Two.\n---\nWORDS\n", "NOTE\n"
	const shy = "---\nname: shy\ndescription: Three.\ndisable-model-invocation: true\n---\nWORDS\n"
	for file, text := range map[string]string{"common/SKILL.md": common, "common/ref/note.txt": note, "secret/SKILL.md": secret, "shy/SKILL.md": shy} {
		put(t, filepath.Join(dir, file), text)
	}
	anna, annaLine := access.NewToken()
	bert, bertLine := access.NewToken()
	config, log := filepath.Join(etc, "knack.yaml"), filepath.Join(etc, "audit.log")
	text := "access:\n  default: allow\n  tokens:\n    - {hash: " + annaLine + ", subject: anna}\n    - {hash: " + bertLine + ", subject: bert}\n" +
		"  rules:\n    - {subjects: [bert], deny: [\"skill://secret\"]}\naudit: {to: audit.log}\n"
	put(t, config, text)

	line := func(surface, subject, rest string) string {
		head := `{"surface":"` + surface + `",`
		if subject != "" {
			head += `"subject":"` + subject + `",`
		}
		return head + rest
	}
	mcp := func(subject, client, method, rest string) string {
		return line("mcp", subject, `"client":"`+client+`","address":"127.0.0.1","method":"`+method+`",`+rest)
	}
	page := func(surface, subject, rest string) string {
		return line(surface, subject, `"address":"127.0.0.1","method":"GET",`+rest)
	}
	loaded := func(uri, text string) string {
		return `"loaded":[{"uri":"` + uri + `","digest":"` + digest(text) + `","size":` + strconv.Itoa(len(text)) + `}],`
	}
	const ok = `"result":"ok"}`
	given := loaded("skill://common/SKILL.md", common)

	var a *asker
	var said func() string
	var bodies strings.Builder // the bodies of all answers
	t.Run("session", func(t *testing.T) {
		var url string
		url, said = servingLog(t, "--dir", dir, "--config", config)
		a = &asker{t: t, url: url, log: log}
		bodies.WriteString(a.call("2025-11-25", anna, "initialize", "", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"old","version":"1"}}`))
		bodies.WriteString(a.call("2025-11-25", anna, "notifications/initialized", "", `{}`))
		a.expect(mcp("anna", "old", "initialize", ok))
		for _, era := range []string{"2025-11-25", "2026-07-28"} {
			for _, step := range []struct{ token, method, name, params, rest string }{
				{anna, "tools/list", "", `{}`, ok},
				{anna, "tools/call", "skill", `{"name":"skill","arguments":{"name":"Common"}}`, `"tool":"skill","asked":"Common",` + given + ok},
				{anna, "tools/call", "skill", `{"name":"skill","arguments":{"name":"Common"}}`, `"tool":"skill","asked":"Common",` + given + ok},
				{anna, "tools/call", "skill", `{"name":"skill","arguments":{"name":"none"}}`, `"tool":"skill","asked":"none","result":"not found"}`},
				{anna, "tools/call", "skill", `{"name":"skill","arguments":{"name":"shy"}}`, `"tool":"skill","asked":"shy","result":"denied"}`},
				{anna, "tools/call", "find_skills", `{"name":"find_skills","arguments":{"query":"hunter2"}}`, `"tool":"find_skills",` + ok},
				{anna, "tools/call", "read_file_in_skill", `{"name":"read_file_in_skill","arguments":{"skill_name":"common","file_path":"ref/note.txt"}}`,
					`"tool":"read_file_in_skill","asked":"common","file":"ref/note.txt",` + loaded("skill://common/ref/note.txt", note) + ok},
				{anna, "tools/call", "read_file_in_skill", `{"name":"read_file_in_skill","arguments":{"skill_name":"common","file_path":"no.txt"}}`,
					`"tool":"read_file_in_skill","asked":"common","file":"no.txt","result":"not found"}`},
				{anna, "tools/call", "read_file_in_skill", `{"name":"read_file_in_skill","arguments":{"skill_name":"common","file_path":"../../etc/passwd"}}`,
					`"tool":"read_file_in_skill","asked":"common","file":"../../etc/passwd","result":"denied"}`},
				{anna, "tools/call", "skill", `{"name":"skill","arguments":{"nome":"hunter2"}}`, `"tool":"skill","result":"error"}`},
				{anna, "tools/call", "skill", `{"name":"skill","arguments":{"name":"a\nb` + anna + `"}}`, `"tool":"skill","asked":"[redacted]","result":"not found"}`},
				{anna, "resources/read", "skill://secret/SKILL.md", `{"uri":"skill://secret/SKILL.md"}`, `"asked":"skill://secret/SKILL.md",` + loaded("skill://secret/SKILL.md", secret) + ok},
				{anna, "resources/read", "skill://common/no.txt", `{"uri":"skill://common/no.txt"}`, `"asked":"skill://common/no.txt","result":"not found"}`},
				{anna, "skills/list", "", `{}`, ok},
				{anna, "skills/get", "", `{"uri":"skill://common/SKILL.md"}`, `"asked":"skill://common/SKILL.md",` + ok},
				{anna, "prompts/get", "shy", `{"name":"shy"}`, `"asked":"shy",` + loaded("skill://shy/SKILL.md", shy) + ok},
			} {
				answer := a.call(era, step.token, step.method, step.name, step.params)
				bodies.WriteString(answer)
				client := map[string]string{"2025-11-25": "old", "2026-07-28": "new"}[era]
				a.expect(mcp("anna", client, step.method, step.rest))
			}
		}
		// A client gets the same answer for a denied skill as for a missing one.
		for _, step := range []struct{ method, name, params, none, rest string }{
			{"tools/call", "skill", `{"name":"skill","arguments":{"name":"secret"}}`, `{"name":"skill","arguments":{"name":"nobody"}}`, `"tool":"skill","asked":"%s",`},
			{"resources/read", "skill://%s/SKILL.md", `{"uri":"skill://secret/SKILL.md"}`, `{"uri":"skill://nobody/SKILL.md"}`, `"asked":"skill://%s/SKILL.md",`},
			{"prompts/get", "%s", `{"name":"secret"}`, `{"name":"nobody"}`, `"asked":"%s",`},
		} {
			named := func(format, name string) string { return strings.ReplaceAll(format, "%s", name) }
			denied := a.call("2026-07-28", bert, step.method, named(step.name, "secret"), step.params)
			a.expect(mcp("bert", "new", step.method, named(step.rest, "secret")+`"result":"denied"}`))
			none := a.call("2026-07-28", bert, step.method, named(step.name, "nobody"), step.none)
			a.expect(mcp("bert", "new", step.method, named(step.rest, "nobody")+`"result":"not found"}`))
			if strings.ReplaceAll(denied, "secret", "nobody") != none {
				t.Errorf("a client can tell:\n%s\n%s", denied, none)
			}
		}
		for _, step := range []struct{ surface, token, path, rest string }{
			{"web", anna, "/", `"asked":"/",` + `"result":"ok","status":200}`},
			{"web", anna, "/skills/common/", `"asked":"skill://common",` + given + `"result":"ok","status":200}`},
			{"web", anna, "/raw/common/ref/note.txt", `"asked":"skill://common/ref/note.txt",` + loaded("skill://common/ref/note.txt", note) + `"result":"ok","status":200}`},
			{"web", bert, "/skills/secret/", `"asked":"skill://secret","result":"denied","status":404}`},
			{"web", bert, "/raw/secret/SKILL.md", `"asked":"skill://secret/SKILL.md","result":"denied","status":404}`},
			{"web", bert, "/nowhere?token=hunter2", `"asked":"/nowhere","result":"not found","status":404}`},
			{"api", anna, "/api/v1/skills?q=hunter2", `"asked":"/api/v1/skills",` + `"result":"ok","status":200}`},
			{"api", anna, "/api/v1/files/common%2Fref%2Fnote.txt", `"asked":"skill://common/ref/note.txt",` + loaded("skill://common/ref/note.txt", note) + `"result":"ok","status":200}`},
			{"api", bert, "/api/v1/skills/secret", `"asked":"skill://secret","result":"denied","status":404}`},
			{"api", bert, "/api/v1/files/common/no.txt", `"asked":"skill://common/no.txt","result":"not found","status":404}`},
			{"well-known", anna, "/.well-known/agent-skills/index.json", `"asked":"/.well-known/agent-skills/index.json","result":"ok","status":200}`},
			{"well-known", anna, "/.well-known/agent-skills/common/SKILL.md", `"asked":"common",` + given + `"result":"ok","status":200}`},
			{"well-known", bert, "/.well-known/agent-skills/secret/SKILL.md", `"asked":"secret","result":"denied","status":404}`},
		} {
			_, body, _ := a.send("GET", step.path, step.token, "")
			bodies.WriteString(body)
			a.expect(page(step.surface, map[string]string{anna: "anna", bert: "bert"}[step.token], step.rest))
		}
		// A request that has no subject and needs no decision is not logged.
		for _, path := range []string{"/healthz", "/readyz"} {
			if code, _, _ := a.send("GET", path, "", ""); code != 200 {
				t.Errorf("%s: %d", path, code)
			}
		}
		for _, token := range []string{"", anna + "x", "", "hunter2"} {
			a.send("POST", "/mcp", token, "{}")
			a.expect(line("mcp", "", `"address":"127.0.0.1","method":"POST","asked":"/mcp","result":"refused token","status":401}`))
		}
		a.send("GET", "/skills/secret/", "hunter2", "")
		a.expect(page("web", "", `"asked":"/skills/secret/","result":"refused token","status":401}`))
		a.send("GET", "/", anna, "", "Host: evil.example")
		a.expect(page("web", "", `"asked":"/","result":"refused","status":403}`))
		a.send("POST", "/mcp", anna, "no JSON, hunter2", "Content-Type: application/json")
		a.expect(line("mcp", "anna", `"address":"127.0.0.1","method":"POST","asked":"/mcp","result":"error","status":400}`))

		// A reload of the server applies a new limit.
		put(t, config, text+"limits: {rate: 0.01, burst: 2}\n")
		hangUp(t, said, "were read again")
		a.expect(`{"surface":"server","method":"reload","asked":"settings","result":"ok"}`)
		for n := range 8 {
			code, body, header := a.send("GET", "/api/v1/skills", bert, "")
			wait, _ := strconv.Atoi(header.Get("Retry-After"))
			switch {
			case n < 2 && code == 200:
				a.expect(page("api", "bert", `"asked":"/api/v1/skills","result":"ok","status":200}`))
			case n >= 2 && code == 429 && wait > 10 && wait <= 100 && header.Get("Content-Type") == "application/problem+json" && strings.Contains(body, "Too many requests: wait "):
				if denied := n - 1; denied == 1 {
					a.expect(page("api", "bert", `"asked":"/api/v1/skills","result":"limited","status":429}`))
				} else if denied&(denied-1) == 0 {
					a.expect(page("api", "bert", fmt.Sprintf(`"asked":"/api/v1/skills","result":"limited","status":429,"times":%d}`, denied)))
				}
			default:
				t.Errorf("request %d: %d %v %s", n, code, header, body)
			}
		}
		body := a.call("2026-07-28", anna, "tools/list", "", `{}`) // each client has its own limit
		a.expect(mcp("anna", "new", "tools/list", ok))
		body += a.call("2026-07-28", anna, "tools/list", "", `{}`)
		a.expect(mcp("anna", "new", "tools/list", ok))
		body = a.call("2026-07-28", anna, "tools/list", "", `{}`)
		a.expect(line("mcp", "anna", `"address":"127.0.0.1","method":"POST","asked":"/mcp","result":"limited","status":429}`))
		if !json.Valid([]byte(body)) || !strings.Contains(body, `"error":{"code":-32000,"message":"Too many requests: wait `) {
			t.Errorf("limited at /mcp: %s", body)
		}
	})
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Join(a.want, "\n")+"\n", withoutTimes(t, string(data))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !strings.Contains(bodies.String(), "WORDS") || !strings.Contains(bodies.String(), "NOTE") {
		t.Error("clients were told nothing, so that nothing is shown")
	}
	for _, no := range []string{"WORDS", "NOTE", "hunter2", anna, bert} {
		if strings.Contains(string(data), no) || strings.Contains(said(), no) {
			t.Errorf("a log has %q", no)
		}
	}
}

// TestAuditOverStdio checks that the subject over stdio is the user who started the server.
func TestAuditOverStdio(t *testing.T) {
	env := environment(t)
	log := filepath.Join(t.TempDir(), "audit.log")
	env.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"skill","arguments":{"name":"git"}}}
`)
	if code := cli.Main(t.Context(), env, []string{"serve", "--audit", log}); code != 0 {
		t.Fatalf("%d %s", code, env.Stderr)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	text := "---\nname: git\ndescription: Git.\n---\n"
	want := `{"surface":"mcp","client":"c","method":"initialize","result":"ok"}
{"surface":"mcp","client":"c","method":"tools/call","tool":"skill","asked":"git","loaded":[{"uri":"skill://claude-user/git/SKILL.md","digest":"` + digest(text) + `","size":` + strconv.Itoa(len(text)) + `}],"result":"ok"}
`
	if diff := cmp.Diff(want, withoutTimes(t, string(data))); diff != "" {
		t.Error(diff)
	}
}

// TestReload checks that SIGHUP always reopens the audit log and applies the settings that can
// change. It also checks that the log names the other changed settings.
func TestReload(t *testing.T) {
	etc := t.TempDir()
	config, log := filepath.Join(etc, "knack.yaml"), filepath.Join(etc, "audit.log")
	put(t, config, "audit: {to: audit.log}\nlog: {format: json}\n")
	url, said := servingLog(t, "--dir", skills(t), "--config", config)
	a := &asker{t: t, url: url, log: log}
	moved := func() {
		t.Helper()
		if err := os.Rename(log, log+".moved"); err != nil {
			t.Fatal(err)
		}
	}
	const line = `{"surface":"api","address":"127.0.0.1","method":"GET","asked":"/api/v1/skills","result":"ok","status":200}`
	ask := func(before ...string) {
		t.Helper()
		a.want = before
		a.send("GET", "/api/v1/skills", "", "")
		a.expect(line)
	}
	ask()
	moved()
	put(t, config, "audit: {to: elsewhere.log, keep: 2}\nlog: {format: text, level: error}\nhttp: {hosts: [a.example]}\nlimits: {rat: 1}\n")
	hangUp(t, said, `"msg":"the settings and tokens were not read again; the previous ones stay in effect","reason":"`+config+`:4:10: there is no key 'rat' in limits"`)
	ask(`{"surface":"server","method":"reload","asked":"settings","result":"refused"`) // in the new file
	moved()
	put(t, config, "audit: {to: elsewhere.log, keep: 2}\nlog: {format: text, level: info}\nhttp: {hosts: [a.example]}\nlimits: {rate: 1}\n")
	hangUp(t, said, `"msg":"these keys have changed, and take effect after a restart","keys":"http.hosts, log.format, audit.to, audit.keep"`)
	ask(`{"surface":"server","method":"reload","asked":"settings","result":"ok"}`)
	if _, err := os.Stat(filepath.Join(etc, "elsewhere.log")); err == nil {
		t.Error("it writes elsewhere before it is started anew")
	}
	put(t, config, "log: {level: error}\naudit: {to: audit.log}\n")
	n := strings.Count(said(), "were read again")
	for range 2 { // only errors are logged from now on; the second shows that the first reload is done
		moved()
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, func() bool { _, err := os.Stat(log); return err == nil }, "the audit log is not opened anew")
	}
	replace(t, config, "log: {lovel: error}\n") // the second reload may still read it
	hangUp(t, said, "there is no key 'lovel' in log")
	if strings.Count(said(), "were read again") != n {
		t.Error("the level was not taken over")
	}
}
