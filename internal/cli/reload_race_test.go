//go:build unix

package cli_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// canary is in the description, the text and a file name of the hidden skill.
const canary = "zqxcanary"

// demand is a request for the hidden skill.
type demand struct {
	door    string // key under which coverage is counted
	method  string
	path    string
	body    string
	headers string // each ends with a line break
	leak    string // text that no answer may contain; "" means the canary
	stream  bool   // the answer does not end; only its beginning is checked
	carl    bool   // sent with the token that reloads add and remove
}

// mcpDemands returns requests for the hidden skill by every MCP method. They are in both protocol
// versions, and take both ways through the server: its core and the SDK.
func mcpDemands(session string) (all []demand) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	const uri = "skill://zqx/SKILL.md"
	for _, c := range []struct{ method, name, params, leak string }{
		{"tools/list", "", ``, ""},
		{"tools/call", "skill", `"name":"skill","arguments":{"name":"zqx"}`, ""},
		{"tools/call", "find_skills", `"name":"find_skills","arguments":{"query":"hidden"}`, ""},
		{"tools/call", "read_file_in_skill", `"name":"read_file_in_skill","arguments":{"skill_name":"zqx","file_path":"` + canary + `.md"}`, "text of the file"},
		{"resources/list", "", ``, ""},
		{"resources/read", uri, `"uri":"` + uri + `"`, ""},
		{"resources/directory/read", "", `"uri":"skill://zqx"`, ""},
		{"skills/list", "", ``, ""},
		{"skills/get", "", `"uri":"` + uri + `"`, ""},
		{"prompts/list", "", ``, ""},
		{"prompts/get", "zqx", `"name":"zqx"`, ""},
		{"completion/complete", "", `"ref":{"type":"ref/resource","uri":"skill://{+path}"},"argument":{"name":"path","value":"zqx/"}`, ""},
		{"resources/subscribe", "", `"uri":"` + uri + `"`, `"result"`},
		{"subscriptions/listen", "", `"notifications":{"resourceSubscriptions":["` + uri + `"]}`, `["` + uri},
		{"server/discover", "", ``, ""},
	} {
		for _, id := range []string{"1", "1.0"} { // the SDK handles the second
			door := map[string]string{"1": "core", "1.0": "SDK"}[id]
			params := c.params
			if params != "" {
				params += ","
			}
			if c.method != "resources/subscribe" {
				headers := "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: " + c.method + "\r\n"
				if c.name != "" {
					headers += "Mcp-Name: " + c.name + "\r\n"
				}
				all = append(all, demand{door: "2026-07-28 " + door, method: "POST", path: "/mcp", headers: headers, leak: c.leak, stream: c.method == "subscriptions/listen",
					body: `{"jsonrpc":"2.0","id":` + id + `,"method":"` + c.method + `","params":{` + params + meta + `}}`})
			}
			if c.method != "subscriptions/listen" && c.method != "server/discover" {
				all = append(all, demand{door: "2025-11-25 " + door, method: "POST", path: "/mcp", headers: "Mcp-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: " + session + "\r\n", leak: c.leak,
					body: `{"jsonrpc":"2.0","id":` + id + `,"method":"` + c.method + `","params":{` + c.params + `}}`})
			}
		}
	}
	all = append(all, demand{door: "initialize", method: "POST", path: "/mcp",
		body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`})
	return all
}

// pageDemands returns requests for the hidden skill on the pages and in the API.
func pageDemands(headers string) (all []demand) {
	for _, path := range []string{"/", "/?q=hidden", "/skills/zqx/", "/skills/zqx/" + canary + ".md", "/raw/zqx/SKILL.md", "/health", "/api/v1/skills", "/api/v1/skills/zqx", "/api/v1/files/zqx/SKILL.md", "/api/v1/problems", "/.well-known/agent-skills/index.json"} {
		door := "pages"
		if strings.HasPrefix(path, "/api/") {
			door = "API"
		}
		d := demand{door: door, method: "GET", path: path, headers: headers}
		if strings.Contains(path, canary) || strings.HasPrefix(path, "/raw/") {
			d.leak = "text of the file"
		}
		all = append(all, d)
	}
	return all
}

// line is a connection to a server. Requests are sent over it in two parts.
type line struct {
	net.Conn
	in   *bufio.Reader
	host string
}

func dial(base string) (*line, error) {
	host := strings.TrimPrefix(base, "http://")
	c, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	return &line{c, bufio.NewReader(c), host}, nil
}

// ask sends a request and reads the answer. It sends the headers and half of the body, calls hold,
// and sends the rest after hold returns. If there is no error, the connection can be used again.
func (l *line) ask(d demand, token string, hold func()) (status int, body string, err error) {
	_ = l.SetDeadline(time.Now().Add(2 * time.Minute))
	headers := d.headers
	if !strings.Contains(headers, "Cookie: ") {
		headers += "Authorization: Bearer " + token + "\r\n"
	}
	if d.method == "POST" {
		headers += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	}
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\n%sContent-Length: %d\r\n\r\n%s", d.method, d.path, l.host, headers, len(d.body), d.body)
	if hold != nil {
		half := len(text) - (len(d.body)+1)/2
		if _, err := io.WriteString(l, text[:half]); err != nil {
			return 0, "", err
		}
		text = text[half:]
		hold()
	}
	if _, err := io.WriteString(l, text); err != nil {
		return 0, "", err
	}
	resp, err := http.ReadResponse(l.in, &http.Request{Method: d.method})
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	if d.stream && resp.StatusCode == http.StatusOK {
		event, err := bufio.NewReader(resp.Body).ReadString('}')
		return resp.StatusCode, event, errors.Join(err, errStream)
	}
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.Close {
		err = errStream
	}
	return resp.StatusCode, string(data), err
}

// errStream reports that a connection cannot be used again.
var errStream = errors.New("the answer goes on, or the line ends")

// TestReloadRace checks that a skill that is hidden before and after a reload is never visible, at
// whatever point the reload interrupts a request. Anna moves to another group, and the rule moves
// to it too. Carl's token is removed together with the rule for his group. A server that combined
// the tokens of one state with the rules of the other would show them the skill.
//
// KNACK_RELOADS is the number of reloads, 8 by default. There are 100 requests for each.
func TestReloadRace(t *testing.T) {
	reloads := 8
	if text := os.Getenv("KNACK_RELOADS"); text != "" {
		if _, err := fmt.Sscan(text, &reloads); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "open", "SKILL.md"), "---\nname: open\ndescription: Open.\n---\n")
	put(t, filepath.Join(dir, "zqx", "SKILL.md"), "---\nname: zqx\ndescription: A hidden one, "+canary+".\nodd-key: "+canary+"\n---\ntext of the file "+canary+"\n")
	put(t, filepath.Join(dir, "zqx", canary+".md"), "text of the file\n")
	anna, annaLine := access.NewToken()
	carl, carlLine := access.NewToken()
	dora, doraLine := access.NewToken()
	state := func(annas, rules string, carls bool, doras string) string {
		text := "limits: {rate: 0}\naccess:\n  default: allow\n  tokens:\n    - {hash: " + annaLine + ", subject: anna, groups: [" + annas + "]}\n    - {hash: " + doraLine + ", subject: dora}\n"
		if carls {
			text += "    - {hash: " + carlLine + ", subject: carl, groups: [c]}\n"
		}
		return text + "  rules:\n    - {groups: [" + rules + "], deny: [\"skill://zqx/**\"]}\n    - {subjects: [dora], deny: [\"skill://" + doras + "/**\"]}\n"
	}
	states := []string{state("a", "a, c", true, "open"), state("b", "b", false, "zqx")}
	config := filepath.Join(t.TempDir(), "knack.yaml")
	put(t, config, states[0])
	url, _ := servingLog(t, "--dir", dir, "--config", config)
	base := strings.TrimSuffix(url, "/mcp")

	h := &house{surfer: newSurfer(t, base), dir: dir, sessions: map[string]string{}}
	cookie := bearing1(h.signIn(anna)) + "\r\n"
	for name, token := range map[string]string{"anna": anna, "carl": carl} {
		h.enter(role{name: name, headers: []string{"Authorization: Bearer " + token}})
	}
	demands := append(mcpDemands(h.sessions["anna"]), pageDemands("")...)
	demands = append(demands, pageDemands(cookie)...)
	for _, d := range mcpDemands(h.sessions["carl"]) {
		d.carl = true
		demands = append(demands, d)
	}
	news := h.listen("GET", "", "Authorization: Bearer "+anna, "Mcp-Protocol-Version: 2025-11-25", "Mcp-Session-Id: "+h.sessions["anna"])

	var (
		generation          atomic.Int64 // number of finished reloads
		sent, leaks, failed atomic.Int64
		over                = make(chan struct{})
		wakes               sync.Cond // for the goroutines that hold a body back
		counts              sync.Map  // maps a door and a status to an *atomic.Int64
		workers             sync.WaitGroup
	)
	wakes.L = &sync.Mutex{}
	next := func() {
		generation.Add(1)
		wakes.L.Lock()
		wakes.Broadcast()
		wakes.L.Unlock()
	}
	await := func(g int64) {
		wakes.L.Lock()
		defer wakes.L.Unlock()
		for generation.Load() < g {
			wakes.Wait()
		}
	}
	const holding, running = 16, 4
	for i := range holding + running {
		workers.Go(func() {
			var l *line
			for n := i * 7; ; n++ {
				select {
				case <-over:
					return
				default:
				}
				d, token := demands[n%len(demands)], anna
				if d.carl {
					token = carl
				}
				var hold func()
				if i < holding && d.body != "" {
					g := generation.Load()
					hold = func() { await(g + 1) }
				}
				if i >= holding { // keep pace with the reloads: 100 requests for each
					await(sent.Load() / 100)
				}
				var err error
				if l == nil {
					if l, err = dial(base); err != nil {
						t.Error(err)
						return
					}
				}
				status, body, err := l.ask(d, token, hold)
				if err != nil {
					l.Close()
					l = nil
				}
				if status == 0 {
					failed.Add(1)
					if !d.carl { // a refusal may cut off a request body
						t.Errorf("%s: %v", d.door, err)
					}
					continue
				}
				sent.Add(1)
				count, _ := counts.LoadOrStore(fmt.Sprint(d.door, ": ", status), new(atomic.Int64))
				count.(*atomic.Int64).Add(1)
				leak := d.leak
				if leak == "" {
					leak = canary
				}
				if strings.Contains(body, leak) && leaks.Add(1) <= 3 {
					t.Errorf("%s %s %s (held: %v) saw what is hidden: %d %.300s", d.door, d.path, d.body, hold != nil, status, body)
				}
			}
		})
	}
	// Dora's answers show which state is in force, since she sees a different skill in each.
	sees := func() string {
		r := h.get("/api/v1/skills", "Authorization: Bearer "+dora)
		if strings.Contains(r.body, canary) {
			return states[0]
		}
		return states[1]
	}
	begin := time.Now()
	for g := 1; g <= reloads && !t.Failed(); g++ {
		want := states[g%2]
		replace(t, config, want)
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); sees() != want; {
			if time.Now().After(deadline) {
				t.Fatal("the configuration is not taken over")
			}
		}
		next()
		testwait.Until(t, func() bool { return sent.Load() >= int64(g)*100 || t.Failed() }, "the requests of a reload")
	}
	close(over)
	generation.Add(1 << 32)
	next()
	workers.Wait()
	if strings.Contains(news.text(), "zqx/") {
		t.Errorf("the stream of news names what is hidden:\n%s", news.text())
	}
	t.Logf("%d requests, %d reloads, %d cut off, %d leaks, %v", sent.Load(), reloads, failed.Load(), leaks.Load(), time.Since(begin).Round(time.Second))
	counts.Range(func(key, n any) bool { t.Logf("%v %d", key, n.(*atomic.Int64).Load()); return true })
}
