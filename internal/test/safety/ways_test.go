//go:build linux

package safety

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// The protocol's two eras.
const (
	legacyEra = "2025-11-25"
	modernEra = "2026-07-28"
)

// way is a way to request one file of a skill. ask returns the whole answer.
type way struct {
	name  string
	reads bool // the answer contains the file's content
	slow  bool // each request starts a process
	ask   func(skill, path string) (string, error)
}

// ways provides the ways to request files in one trial.
type ways struct {
	r      *trial
	set    setting
	flags  []string
	client *http.Client
	token  string // sent with every request over HTTP
}

// uri returns the URI of a file, with the path escaped as a careful client does.
func uri(skill, path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return "skill://" + skill + "/" + strings.Join(parts, "/")
}

// via is a transport and protocol version for calls.
type via struct {
	name string
	ask  func(method string, params map[string]any) (string, error)
}

// start starts servers and returns all ways to request a file from them.
func (w *ways) start() (all []way, servers []*knack) {
	stdio := w.r.stdio(w.set, w.flags...)
	web := w.r.http(w.set, w.flags...)
	servers = []*knack{stdio, web}
	all = calls(append([]via{{"stdio", func(method string, params map[string]any) (string, error) {
		line, err := stdio.call(method, params)
		return string(line), err
	}}}, w.eras(web)...))
	all = append(all, w.pages(web)...)
	all = append(all,
		way{"stdio resources/subscribe", false, false, func(skill, path string) (string, error) {
			line, err := stdio.call("resources/subscribe", map[string]any{"uri": uri(skill, path)})
			return string(line), err
		}},
		way{"stdio completion/complete", false, false, func(skill, path string) (string, error) {
			line, err := stdio.call("completion/complete", map[string]any{
				"ref":      map[string]any{"type": "ref/resource", "uri": "skill://{+path}"},
				"argument": map[string]any{"name": "path", "value": skill + "/" + path},
			})
			return string(line), err
		}},
		way{"show", true, true, w.command(func(skill, path string) []string { return []string{"show", skill, path} })},
		way{"show --as", true, true, w.command(func(skill, path string) []string {
			return []string{"show", skill, path, "--as", "read_file_in_skill"}
		})},
		way{"call", true, true, func(skill, path string) (string, error) {
			args, _ := json.Marshal(map[string]any{"skill_name": skill, "file_path": path})
			call, _ := json.Marshal(map[string]any{"id": "1", "type": "function", "function": map[string]any{"name": "read_file_in_skill", "arguments": string(args)}})
			set := w.set
			set.stdin = bytes.NewReader(call)
			return w.ended(w.r.run(set, append([]string{"call", "--format", "openai"}, w.flags...)...))
		}},
	)
	return all, servers
}

// eras returns the calls over HTTP in both eras of the protocol.
func (w *ways) eras(web *knack) []via {
	session := w.dial(web)
	return []via{
		{"http-2025", func(method string, params map[string]any) (string, error) {
			return w.post(web, legacyEra, session, method, params)
		}},
		{"http-2026", func(method string, params map[string]any) (string, error) {
			return w.post(web, modernEra, "", method, params)
		}},
	}
}

// calls returns the ways to request a file through the protocol.
func calls(vias []via) (all []way) {
	for _, via := range vias {
		all = append(all,
			way{via.name + " read_file_in_skill", true, false, func(skill, path string) (string, error) {
				return via.ask("tools/call", tool("read_file_in_skill", map[string]any{"skill_name": skill, "file_path": path}))
			}},
			way{via.name + " resources/read", true, false, func(skill, path string) (string, error) {
				return via.ask("resources/read", map[string]any{"uri": uri(skill, path)})
			}},
			way{via.name + " resources/read, as it is", false, false, func(skill, path string) (string, error) {
				return via.ask("resources/read", map[string]any{"uri": "skill://" + skill + "/" + path})
			}},
			way{via.name + " resources/directory/read", false, false, func(skill, path string) (string, error) {
				return via.ask("resources/directory/read", map[string]any{"uri": uri(skill, path)})
			}})
	}
	return all
}

// webPlaces lists the pages and the API routes for a skill's file. A new page needs a row here,
// which adds cases to every part.
var webPlaces = []struct {
	name  string
	reads bool // the answer is the file
	at    func(skill, path string) string
}{
	{"page", false, func(skill, path string) string { return "/skills/" + skill + "/" + path }},
	{"raw", true, func(skill, path string) string { return "/raw/" + skill + "/" + path }},
	{"api files", true, func(skill, path string) string { return "/api/v1/files/" + skill + "/" + path }},
	{"api skills", false, func(skill, path string) string { return "/api/v1/skills/" + skill + "/" + path }},
	{"api problems", false, func(skill, path string) string { return "/api/v1/problems/" + skill + "/" + path }},
	{"discovery index", false, func(skill, path string) string { return "/.well-known/agent-skills/" + skill + "/" + path }},
	{"health page", false, func(skill, path string) string { return "/health/" + skill + "/" + path }},
	{"asset", false, func(skill, path string) string { return "/assets/" + skill + "/" + path }},
}

// webLists lists the addresses of pages and API routes that list skills or show the server's state.
var webLists = []string{
	"/", "/?q=git", "/signin", "/health", "/usage", "/connect", "/metrics", "/api/v1/skills", "/api/v1/skills?state=skipped", "/api/v1/skills?q=git&limit=5", "/api/v1/problems", "/api/v1/openapi.json", "/.well-known/agent-skills/index.json",
}

// pages returns the ways to request a file through the pages and the API. They send the path
// escaped as a careful client does, unescaped, and with every slash escaped. They also send the
// searches that a page sends while the user types.
func (w *ways) pages(k *knack) (all []way) {
	base := strings.TrimSuffix(k.url, "/mcp")
	escaped := func(path string) string { return strings.TrimPrefix(uri("", path), "skill:///") }
	for _, p := range webPlaces {
		all = append(all,
			way{"http " + p.name, p.reads, false, func(skill, path string) (string, error) {
				return w.get(base + p.at(escaped(skill), escaped(path)))
			}},
			way{"http " + p.name + ", as it is", false, false, func(skill, path string) (string, error) {
				return w.get(base + p.at(skill, path))
			}},
			way{"http " + p.name + ", slashes escaped", false, false, func(skill, path string) (string, error) {
				return w.get(base + strings.ReplaceAll(p.at(url.PathEscape(skill+"/"+path), ""), "//", "/"))
			}})
	}
	for _, at := range []string{"/?q=", "/api/v1/skills?q=", "/api/v1/skills?state=skipped&q=", "/api/v1/skills?root=", "/api/v1/skills?cursor="} {
		all = append(all, way{"http " + at, false, false, func(skill, path string) (string, error) {
			return w.get(base + at + url.QueryEscape(skill+"/"+path))
		}})
	}
	return all
}

// get requests an address without following redirects. It repeats the request while the server is
// too busy to read the disk. It does not request an invalid address.
func (w *ways) get(at string) (string, error) {
	for range 50 {
		answer, err := w.getOnce(at)
		if err == nil || !strings.Contains(err.Error(), "503 ") {
			return answer, err
		}
		pause(100 * time.Millisecond)
	}
	return w.getOnce(at)
}

// settled repeats a request while the page says that skills are being checked.
func (w *ways) settled(at string) (answer string, err error) {
	if !testwait.Within(w.r.patience(), func() bool {
		answer, err = w.get(at)
		return !strings.Contains(answer, ">Look again</a>")
	}) {
		err = errors.New("skills are still being checked")
	}
	return answer, err
}

func (w *ways) getOnce(at string) (string, error) {
	req, err := http.NewRequest(http.MethodGet, at, nil)
	if err != nil {
		return "", nil
	}
	client := *w.http()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	// A server error is permitted only for a failing disk, and then only with a message.
	if resp.StatusCode >= 500 && !strings.Contains(string(data), "cannot be read: ") {
		return "", fmt.Errorf("%s: %s", resp.Status, excerpt(string(data)))
	}
	return fmt.Sprint(resp.Status, resp.Header, "\n", string(data)), nil
}

// command returns a way to request a file through the command line. An argument cannot contain a
// NUL or be longer than 128 KiB.
func (w *ways) command(args func(skill, path string) []string) func(skill, path string) (string, error) {
	return func(skill, path string) (string, error) {
		if strings.ContainsRune(skill+path, 0) || max(len(skill), len(path)) > 100_000 {
			return "", nil
		}
		cut := args(skill, path)
		if strings.HasPrefix(path, "-") {
			cut = append([]string{cut[0]}, append(w.flags, append([]string{"--"}, cut[1:]...)...)...)
			if cut[len(cut)-2] == "--as" { // flags come before --
				return "", nil
			}
			return w.ended(w.r.run(w.set, cut...))
		}
		return w.ended(w.r.run(w.set, append(cut, w.flags...)...))
	}
}

// ended checks that a command ended by itself and did not panic.
func (w *ways) ended(o ran) (string, error) {
	if o.status < 0 || strings.Contains(o.errout, "panic:") {
		return o.all(), fmt.Errorf("%w: status %d: %s", errNoAnswer, o.status, excerpt(o.errout))
	}
	return o.all(), nil
}

// request makes an HTTP request for a call in the given era.
func request(k *knack, era, session, method string, params map[string]any) (*http.Request, error) {
	p := map[string]any{}
	for key, v := range params {
		p[key] = v
	}
	if era >= modernEra {
		p["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion": era, "io.modelcontextprotocol/clientCapabilities": map[string]any{},
			"io.modelcontextprotocol/clientInfo": map[string]any{"name": "test", "version": "1"},
		}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": p})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodPost, k.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Mcp-Protocol-Version", era)
	if session != "" {
		h.Set("Mcp-Session-Id", session)
	}
	if era >= modernEra {
		h.Set("Mcp-Method", method)
		for _, key := range []string{"name", "uri"} {
			if v, ok := params[key].(string); ok && (method == "tools/call" || method == "resources/read") {
				h.Set("Mcp-Name", headerText(v))
			}
		}
	}
	return req, nil
}

// headerText returns s with ? instead of the characters that a header cannot contain. If the header
// then differs from the body, the server refuses the request, which is an answer too.
func headerText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

// http returns the client for all requests.
func (w *ways) http() *http.Client {
	if w.client == nil {
		w.client = &http.Client{Timeout: w.r.patience()}
		if w.token != "" {
			w.client.Transport = bearer(w.token)
		}
	}
	return w.client
}

// signIn signs the client in, as a browser.
func (w *ways) signIn(k *knack, token string) {
	w.r.Helper()
	jar, err := cookiejar.New(nil)
	w.r.must(err)
	w.client = &http.Client{Timeout: w.r.patience(), Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := w.client.PostForm(strings.TrimSuffix(k.url, "/mcp")+"/signin", url.Values{"token": {token}, "to": {"/"}})
	w.r.must(err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther || len(resp.Cookies()) == 0 {
		w.r.Fatalf("signing in: %s", resp.Status)
	}
}

// bearer is a transport that adds a token to every request.
type bearer string

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(req)
}

// post makes a call over HTTP and returns the answer, including the headers.
func (w *ways) post(k *knack, era, session, method string, params map[string]any) (string, error) {
	req, err := request(k, era, session, method, params)
	if err != nil {
		return "", err
	}
	resp, err := w.http().Do(req)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return fmt.Sprint(resp.Status, resp.Header, "\n", string(data)), nil
}

// dial opens a session of the older era and returns its id.
func (w *ways) dial(k *knack) string {
	w.r.Helper()
	req, err := request(k, legacyEra, "", "initialize", map[string]any{
		"protocolVersion": legacyEra, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"},
	})
	w.r.must(err)
	resp, err := w.http().Do(req)
	w.r.must(err)
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	session := resp.Header.Get("Mcp-Session-Id")
	if session == "" {
		w.r.Fatalf("no session: %s", resp.Status)
	}
	w.r.must(initialized(w.http(), k, session))
	return session
}

// initialized ends the handshake of a session.
func initialized(client *http.Client, k *knack, session string) error {
	req, err := request(k, legacyEra, session, "notifications/initialized", nil)
	if err != nil {
		return err
	}
	body := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Body.Close()
}

// soon bounds the time until an answer, without the time spent waiting for a processor. A slow
// request is repeated twice before it counts as a failure.
const soon = time.Second

// timed repeats a request until its answer comes in time. How long a process waited for a processor
// is unknown once it has ended. So a command may take soon of processor time, and ten times soon by
// the clock.
func timed(ask func() (string, error)) (answer string, err error) {
	for try := range 3 {
		var waited time.Duration
		if try > 0 {
			waited = -waiting()
		}
		begin, worked := time.Now(), -ofEnded()
		answer, err = ask()
		took := time.Since(begin)
		worked += ofEnded()
		if try > 0 {
			waited += waiting()
		}
		if err != nil || took-max(waited, 0) <= soon || worked > 0 && worked <= soon && took <= 10*soon {
			return answer, err
		}
		err = fmt.Errorf("the answer took %v, and waited %v for a processor; commands worked %v: %s", took.Round(time.Millisecond), waited.Round(time.Millisecond), worked.Round(time.Millisecond), excerpt(answer))
	}
	return answer, err
}

// ofEnded returns the processor time of the children that have ended.
func ofEnded() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// waiting returns how long the runnable threads of this process and its children waited for a
// processor. Waiting for a disk, a lock or a clock does not count, so a program that hangs or works
// too long is slow on any machine.
func waiting() (all time.Duration) {
	for _, pid := range family() {
		files, _ := filepath.Glob("/proc/" + pid + "/task/*/schedstat")
		for _, file := range files {
			data, _ := os.ReadFile(file) // an ended thread has no data
			if fields := strings.Fields(string(data)); len(fields) == 3 {
				n, _ := strconv.ParseInt(fields[1], 10, 64)
				all += time.Duration(n)
			}
		}
	}
	return all
}

// end ends a session of the older era.
func (w *ways) end(k *knack, session string) {
	req, err := http.NewRequest(http.MethodDelete, k.url, nil)
	if err != nil {
		return
	}
	req.Header.Set("Mcp-Session-Id", session)
	req.Header.Set("Mcp-Protocol-Version", legacyEra)
	if resp, err := w.http().Do(req); err == nil {
		resp.Body.Close()
	}
}
