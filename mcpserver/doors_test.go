package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
)

// doors is one server whose calls go through the core where it takes them, and beside it
// the same server whose calls all go through the SDK. The same bytes must be answered with
// the same bytes.
type doors struct {
	server    *mcpserver.Server
	core, sdk *mcpserver.HTTP
	taken     int // calls that the core took
}

// doorMeta is the _meta of a request of 2026-07-28.
const doorMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

func newDoors(t testing.TB, sets string) *doors {
	t.Helper()
	files := fixtures()
	for i := range 510 { // two pages of resources/list, and of a folder
		files[fmt.Sprintf("many/n-%03d/SKILL.md", i)] = skillText(fmt.Sprintf("n-%03d", i), "One of many.")
	}
	files["a-first/large.txt"] = strings.Repeat("a line of 27 bytes, \"&<>\u2028\n", 10_000)
	d := &doors{server: serve(t, scanned(t, folder(tree(t, files))), func(o *mcpserver.Options) { o.Tools = tools(t, sets) })}
	var err error
	d.core, err = mcpserver.NewHTTPCounting(d.server, mcpserver.HTTPOptions{}, func() { d.taken++ })
	must(t, err)
	d.sdk, err = mcpserver.NewHTTPWithout(d.server, mcpserver.HTTPOptions{})
	must(t, err)
	return d
}

// post sends a body to one of the doors, and returns what is answered.
func post(t testing.TB, h http.Handler, body string, headers map[string]string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range headers {
		if value == "" {
			r.Header.Del(name)
			continue
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// shown is an answer over HTTP as text: status, headers and body.
func shown(t testing.TB, resp *http.Response) string {
	t.Helper()
	var b strings.Builder
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	resp.Header.Del("Content-Length") // the SDK's answers have none
	fmt.Fprintln(&b, resp.Status)
	must(t, resp.Header.Write(&b))
	b.Write(body)
	return b.String()
}

// begin opens a session over HTTP.
func begin(t testing.TB, h http.Handler, version string) (headers map[string]string) {
	t.Helper()
	resp := post(t, h, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil)
	headers = map[string]string{"Mcp-Session-Id": resp.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": version}
	if resp = post(t, h, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers); resp.StatusCode != http.StatusAccepted {
		t.Fatal(resp.Status)
	}
	return headers
}

// pipe sends lines within a session over stdio, and returns what is answered, in order of
// the text. An empty version is a session without a handshake.
func (d *doors) pipe(t testing.TB, sdk bool, version string, lines ...string) string {
	t.Helper()
	in, client := io.Pipe()
	out, server := io.Pipe()
	transport := &mcpserver.StdioTransport{In: in, Out: server}
	go func() {
		var err error
		if sdk {
			err = d.server.MCP().Run(context.WithoutCancel(t.Context()), transport)
		} else {
			err = d.server.RunCounting(context.WithoutCancel(t.Context()), transport, func() { d.taken++ })
		}
		server.CloseWithError(cmpOr(err, io.EOF))
	}()
	answers := bufio.NewReader(out)
	if version != "" {
		_, err := io.WriteString(client, `{"jsonrpc":"2.0","id":"begin","method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n")
		must(t, err)
		_, err = answers.ReadString('\n')
		must(t, err)
		lines = append([]string{`{"jsonrpc":"2.0","method":"notifications/initialized"}`}, lines...)
	}
	go func() {
		_, _ = io.WriteString(client, strings.Join(lines, "\n")+"\n")
		client.Close()
	}()
	all, err := io.ReadAll(answers)
	must(t, err)
	said := strings.SplitAfter(string(all), "\n")
	slices.Sort(said)
	return strings.Join(said, "")
}

func cmpOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// A door call is what is sent in every era: params without _meta, as text.
type doorCall struct{ method, params string }

func doorCalls() (all []doorCall) {
	add := func(method string, params ...string) {
		for _, p := range params {
			all = append(all, doorCall{method, p})
		}
	}
	lists := []string{``, `{}`, `null`, `[]`, `7`, `{"cursor":""}`, `{"cursor":null}`, `{"cursor":7}`, `{"cursor":"x"}`, `{"cursor":"MSBza2lsbDovL2EvU0tJTEwubWQ"}`, `{"Cursor":"x"}`, `{"cursor":"","cursor":"x"}`, `{"other":{"a":[1,null]}}`, `{"cursor":"\ud800"}`}
	for _, method := range []string{"tools/list", "resources/list", "resources/templates/list", "skills/list", "prompts/list"} {
		add(method, lists...)
	}
	uris := []string{``, `{}`, `null`, `{"uri":""}`, `{"uri":null}`, `{"uri":7}`, `{"uri":"x"}`, `{"uri":"skill://none/SKILL.md"}`, `{"uri":"skill://a-first/SKILL.md"}`, `{"uri":"skill:\/\/a-first\/SKILL.md"}`, `{"URI":"skill://a-first/SKILL.md"}`, `{"\u0075ri":"skill://a-first/SKILL.md"}`,
		`{"uri":"skill://none/SKILL.md","uri":"skill://a-first/SKILL.md"}`, `{"uri":"skill://a-first"}`, `{"uri":"skill://"}`, `{"uri":"skill://f-bad/SKILL.md"}`, `{"uri":"skill://a-first/data.bin"}`, `{"uri":"skill://a-first/large.txt"}`, `{"uri":"skill://a-first/crlf.txt"}`, `{"uri":"skill://a-first/empty-file.txt"}`, `{"uri":"skill://a-first/.env"}`, `{"uri":"skill://a-first/..%2f..%2fx"}`, `{"uri":"skill://a-first/\ud800"}`, `{"uri":"skill://a-first/scripts","cursor":"x"}`, `{"uri":"skill://a-first/scripts","cursor":""}`, `{"uri":"skill://many"}`}
	for _, method := range []string{"resources/read", "skills/get", "resources/directory/read"} {
		add(method, uris...)
	}
	add("tools/call", ``, `{}`, `null`, `{"name":"none"}`, `{"name":7}`, `{"name":null}`, `{"name":"skill"}`, `{"name":"skill","arguments":null}`, `{"name":"skill","arguments":{}}`, `{"name":"skill","arguments":[]}`, `{"name":"skill","arguments":"x"}`, `{"name":"skill","arguments":{"name":"a-first"}}`, `{"name":"skill","arguments":{"name":"a-first","name":"none"}}`, `{"name":"skill","arguments":{"Name":"a-first"}}`,
		`{"Name":"skill","arguments":{"name":"a-first"}}`, `{"name":"none","name":"skill","arguments":{"name":"a-first"}}`, `{"name":"skill","arguments":{"name":"none"}}`, `{"name":"skill","arguments":{"name":7}}`, `{"name":"read_file_in_skill","arguments":{"skill_name":"a-first","file_path":"large.txt"}}`, `{"name":"read_file_in_skill","arguments":{"skill_name":"a-first","file_path":"none"}}`, `{"name":"find_skills","arguments":{"query":"has"}}`,
		`{"name":"skill","arguments":{"name":"a-first"},"inputResponses":{}}`, `{"name":"skill","arguments":{"name":"a-first"},"requestState":"x"}`, `{"name":"skill","arguments":{"name":"\ud83d\ude00 \ud800"}}`,
		`{"name":"get_skill","arguments":{"skill_name":"a-first"}}`, `{"name":"get_skill","arguments":{"uri":"skill://a-first/SKILL.md"}}`, `{"name":"get_skill","arguments":{"skill_name":"none"}}`, `{"name":"list_skills"}`, `{"name":"list_skills","arguments":{"x":1}}`)
	add("prompts/get", ``, `{}`, `null`, `{"name":"none"}`, `{"name":7}`, `{"name":"a-first"}`, `{"name":"a-first","arguments":{}}`, `{"name":"a-first","arguments":null}`, `{"name":"a-first","arguments":{"request":"do it"}}`, `{"name":"a-first","arguments":{"request":7}}`, `{"name":"a-first","arguments":{"request":null}}`, `{"name":"a-first","arguments":{"other":"x"}}`, `{"name":"a-first","arguments":{"request":"a","request":"b"}}`, `{"name":"a-first","arguments":[]}`)
	add("completion/complete", ``, `{}`, `null`, `{"ref":{"type":"ref/resource","uri":"skill://{+path}"},"argument":{"name":"path","value":"a"}}`, `{"ref":{"type":"ref/resource","uri":"skill://{+path}"},"argument":{"name":"path","value":""}}`, `{"ref":{"type":"ref/resource","uri":"x"},"argument":{"name":"path","value":"a"}}`, `{"ref":{"type":"ref/prompt","name":"a-first"},"argument":{"name":"request","value":"b"}}`, `{"ref":{"type":"ref/prompt","name":"none"},"argument":{"name":"request","value":"b"}}`,
		`{"ref":{"type":"ref/other"},"argument":{"name":"path","value":"a"}}`, `{"ref":{},"argument":{"name":"x","value":""}}`, `{"ref":null,"argument":null}`, `{"ref":{"type":"ref/prompt","name":"a-first","uri":"x"},"argument":{"name":"request","value":"b"}}`, `{"ref":{"type":"ref/resource","uri":"skill://{+path}"},"argument":{"name":"path","value":"a"},"context":{"arguments":{"x":"y"}}}`, `{"ref":{"type":"ref/resource","uri":"skill://{+path}"},"argument":{"name":"path"}}`, `{"ref":{"type":"ref/resource","uri":"skill://{+path}"},"argument":{}}`)
	add("ping", ``, `{}`)
	add("none/such", ``, `{}`)
	return all
}

// metas are what a call may say about itself, by name; the empty one says nothing.
var doorMetas = map[string]string{
	"":                    ``,
	"modern":              doorMeta,
	"empty":               `"_meta":{}`,
	"null":                `"_meta":null`,
	"no object":           `"_meta":7`,
	"a client's own":      `"_meta":{"progressToken":1,"callId":"exec-1","claudecode/toolUseId":"toolu_1"}`,
	"another call id":     `"_meta":{"callId":7}`,
	"a progress token":    `"_meta":{"progressToken":{"a":1}}`,
	"without client":      `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`,
	"without capability":  `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`,
	"version alone":       `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`,
	"a session's version": `"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`,
	"a later version":     `"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`,
	"version of a number": `"_meta":{"io.modelcontextprotocol/protocolVersion":7}`,
	"client of a number":  `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":7,"io.modelcontextprotocol/clientCapabilities":{}}`,
	"client without name": `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{}}`,
	"client mistyped":     `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":7,"version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`,
	"client with icons":   `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1","icons":7},"io.modelcontextprotocol/clientCapabilities":{}}`,
	"many capabilities":   `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{"listChanged":true},"x":1}}`,
	"capabilities null":   `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":null}`,
	"capabilities array":  `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":[]}`,
	"twice":               doorMeta + `,"_meta":{}`,
	"in another case":     strings.Replace(doorMeta, "_meta", "_Meta", 1),
	"versions twice":      strings.Replace(doorMeta, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25",`, 1),
}

// withMeta adds a _meta to params that are an object or missing.
func withMeta(params, meta string) string {
	switch {
	case meta == "":
		return params
	case params == "" || params == "{}":
		return "{" + meta + "}"
	case params[0] == '{':
		return params[:len(params)-1] + "," + meta + "}"
	}
	return params
}

func callText(id, method, params string) string {
	text := `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"`
	if params != "" {
		text += `,"params":` + params
	}
	return text + "}"
}

// modernHeaders are those of a request of 2026-07-28 that say what its body says.
func modernHeaders(body string) map[string]string {
	headers := map[string]string{"Mcp-Protocol-Version": modern}
	var m struct {
		Method any
		Params struct{ Name, URI any }
	}
	_ = json.Unmarshal([]byte(body), &m)
	for _, h := range []struct {
		name string
		v    any
	}{{"Mcp-Method", m.Method}, {"Mcp-Name", m.Params.Name}, {"Mcp-Name", m.Params.URI}} {
		if s, ok := h.v.(string); ok && s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
			headers[h.name] = s
		}
	}
	return headers
}

// over sends a body through both doors in every way, and calls differ for answers that
// differ.
func (d *doors) over(t testing.TB, ways map[string][2]map[string]string, body string, differ func(way, core, sdk string)) {
	t.Helper()
	for way, headers := range ways {
		core, sdk := headers[0], headers[1]
		if way == modern {
			core = modernHeaders(body)
			sdk = core
		}
		if a, b := shown(t, post(t, d.core, body, core)), shown(t, post(t, d.sdk, body, sdk)); a != b {
			differ("HTTP "+way, a, b)
		}
	}
	if bytes.ContainsAny([]byte(body), "\r\n") {
		return
	}
	for _, version := range []string{"", "2024-11-05", legacy} {
		if a, b := d.pipe(t, false, version, body), d.pipe(t, true, version, body); a != b {
			differ("stdio "+version, a, b)
		}
	}
}

// ways are the ways over HTTP, each with its headers for the two doors.
func (d *doors) ways(t testing.TB) map[string][2]map[string]string {
	t.Helper()
	all := map[string][2]map[string]string{modern: {}, "without a session": {}}
	for _, version := range []string{"2024-11-05", "2025-06-18", legacy} {
		all[version] = [2]map[string]string{begin(t, d.core, version), begin(t, d.sdk, version)}
	}
	return all
}

// TestDoors: the core and the SDK's door give the same answer to the same bytes, in every
// era, over both transports, with and without a session.
func TestDoors(t *testing.T) {
	t.Parallel()
	d := newDoors(t, "default")
	ways := d.ways(t)
	n, faults := 0, 0
	for name, meta := range doorMetas {
		for _, c := range doorCalls() {
			if name != "" && name != "modern" && strings.Count(c.params, `"`)%4 != 2 { // some are enough
				continue
			}
			body := callText("7", c.method, withMeta(c.params, meta))
			d.over(t, ways, body, func(way, core, sdk string) {
				if faults++; faults <= 20 {
					t.Errorf("%s, _meta %s: %s\n%s", way, name, body, cmp.Diff(strings.Split(sdk, "\n"), strings.Split(core, "\n")))
				}
			})
			n++
		}
	}
	t.Logf("%d messages, of which the core took %d", n, d.taken)
}

var _ = catalog.View{}
