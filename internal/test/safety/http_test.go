//go:build linux

package safety

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

func httpParts() []part {
	return []part{
		signInPart(), limitsPart(),
		{name: "matrix", promise: "Host × Origin × method: each combination is accepted or refused as the lists say, and no other origin is granted CORS", run: hostsAndOrigins},
		{name: "floods", promise: "idle connections, slow and huge headers and bodies: active clients are answered, p99 within 2 × of the base or 5 ms, and resources are back within 60 s", run: floods},
		{name: "caps", promise: "sessions, streams and subscriptions over the cap: a clear refusal, and room again once one ends", run: caps},
		sharesPart(),
	}
}

// hostsAndOrigins compares the status for each combination of host, origin and request with a
// second, short implementation of the allow lists.
func hostsAndOrigins(r *trial) {
	root := filepath.Join(r.dir(), "skills")
	r.write(root, map[string]string{"git/SKILL.md": skillMD("git", "x")})
	k := r.http(setting{}, "--no-builtin", "--dir", root, "--allow-host", "skills.example.com", "--allow-host", "ported.example:8443", "--allow-origin", "https://app.example")
	u, err := url.Parse(k.url)
	r.must(err)
	port := u.Port()
	good := []string{"127.0.0.1:" + port, "localhost:" + port, "LocalHost:" + port, "[::1]:" + port, "localhost", "127.9.9.9:1", "skills.example.com", "SKILLS.example.com:9", "ported.example:8443"}
	bad := []string{"evil.example", "evil.example:" + port, "127.0.0.1.evil.example:" + port, "localhost.evil.example", "skills.example.com.evil.example", "xskills.example.com", "ported.example", "ported.example:8444", "0.0.0.0:" + port, "10.0.0.1:" + port, "[::]:" + port, "192.168.0.1", "[fe80::1]:" + port, "metadata.google.internal", "169.254.169.254", "localhost.:" + port}
	client := &http.Client{Timeout: r.patience(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, host := range slices.Concat(good, bad) {
		for _, origin := range []string{"", "self", "https://app.example", "https://evil.example", "null", "http://app.example", "https://app.example.evil.example", "https://app.example:444", "http://localhost:1", "file://", "two"} {
			// The same lists guard the protocol and all other routes.
			for _, place := range []string{"GET /mcp", "POST /mcp", "DELETE /mcp", "OPTIONS /mcp", "PUT /mcp", "HEAD /mcp", "GET /", "GET /skills/git/", "GET /raw/git/SKILL.md", "GET /api/v1/skills", "GET /.well-known/agent-skills/index.json", "GET /metrics", "POST /api/v1/skills"} {
				method, at, _ := strings.Cut(place, " ")
				req, err := http.NewRequest(method, strings.TrimSuffix(k.url, "/mcp")+at, nil)
				r.must(err)
				called := place == "POST /mcp"
				if called {
					req, err = request(k, modernEra, "", "tools/list", map[string]any{})
					r.must(err)
				}
				req.Host = host
				sent := origin
				switch origin {
				case "":
				case "self":
					sent = "http://" + host
					req.Header.Set("Origin", sent)
				case "two":
					req.Header["Origin"] = []string{"https://app.example", "https://evil.example"}
				default:
					req.Header.Set("Origin", origin)
				}
				okHost := slices.Contains(good, host)
				okOrigin := origin == "" || origin == "self" || origin == "https://app.example"
				resp, err := client.Do(req)
				if err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
					granted := resp.Header.Get("Access-Control-Allow-Origin")
					switch {
					case !okHost && resp.StatusCode != http.StatusForbidden:
						err = fmt.Errorf("this Host gets %s", resp.Status)
					case okHost && !okOrigin && resp.StatusCode != http.StatusForbidden:
						err = fmt.Errorf("this Origin gets %s", resp.Status)
					case okHost && okOrigin && (resp.StatusCode == http.StatusForbidden || (called || method == "GET" && at != "/mcp") && resp.StatusCode != http.StatusOK):
						err = fmt.Errorf("gets %s", resp.Status)
					case (!okHost || !okOrigin || origin == "") && granted != "", granted == "*", granted != "" && granted != sent:
						err = fmt.Errorf("this Origin is granted %q", granted)
					}
				}
				r.check(fmt.Sprintf("%s, Host %s, Origin %s", place, host, sent), err)
			}
		}
	}
}

// caps opens one session, subscription and stream more than permitted, and checks that it is
// refused.
func caps(r *trial) {
	root := filepath.Join(r.dir(), "skills")
	r.write(root, map[string]string{"git/SKILL.md": skillMD("git", "x")})
	for i := range 1100 {
		r.write(root, map[string]string{fmt.Sprintf("git/f-%04d.md", i): "x"})
	}
	k := r.http(setting{}, "--no-builtin", "--dir", root)
	client := &http.Client{Timeout: r.patience(), Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	open := func() (string, string, error) {
		req, err := request(k, legacyEra, "", "initialize", map[string]any{"protocolVersion": legacyEra, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}})
		if err != nil {
			return "", "", err
		}
		resp, err := client.Do(req)
		if err != nil {
			return "", "", err
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		id := resp.Header.Get("Mcp-Session-Id")
		if id != "" { // the server may end an uninitialized session to make room
			err = errors.Join(err, initialized(client, k, id))
		}
		return id, resp.Status + string(data), err
	}
	const most = 1024
	var sessions []string
	for range most {
		id, said, err := open()
		if err == nil && id == "" {
			err = errors.New(said)
		}
		r.check("a session", err)
		sessions = append(sessions, id)
	}
	refused := func(what string) {
		id, said, err := open()
		if err == nil && (id != "" || !strings.HasPrefix(said, "429") || !strings.Contains(said, "1024 sessions")) {
			err = fmt.Errorf("%d sessions and one more: %s", most, excerpt(said))
		}
		r.check(what, err)
	}
	refused("one session too many")
	req, err := request(k, legacyEra, sessions[0], "ping", nil)
	r.must(err)
	req.Method, req.Body, req.ContentLength = http.MethodDelete, nil, 0
	resp, err := client.Do(req)
	if err == nil {
		resp.Body.Close()
		if resp.StatusCode >= 300 {
			err = errors.New(resp.Status)
		}
	}
	r.check("ending one", err)
	id, said, err := open()
	if err == nil && id == "" {
		err = errors.New(said)
	}
	r.check("room for one", err)
	refused("one session too many again")

	// The subscriptions of one session.
	w := &ways{r: r, client: client}
	for i := range most + 1 {
		answer, err := w.post(k, legacyEra, sessions[1], "resources/subscribe", map[string]any{"uri": fmt.Sprintf("skill://git/f-%04d.md", i)})
		over := strings.Contains(answer, "too many subscriptions")
		if err == nil && over != (i >= most) {
			err = fmt.Errorf("%d subscriptions: %s", i+1, excerpt(answer))
		}
		r.check("a subscription", err)
	}
	_, err = w.post(k, legacyEra, sessions[1], "resources/unsubscribe", map[string]any{"uri": "skill://git/f-0000.md"})
	r.check("ending one", err)
	var answer string
	if answer, err = w.post(k, legacyEra, sessions[1], "resources/subscribe", map[string]any{"uri": "skill://git/f-1050.md"}); err == nil && strings.Contains(answer, "error") {
		err = errors.New(answer)
	}
	r.check("room for one", err)

	// Streams.
	var streams []io.Closer
	defer func() {
		for _, s := range streams {
			s.Close()
		}
	}()
	for i := range most + 1 {
		req, err := request(k, modernEra, "", "subscriptions/listen", map[string]any{"notifications": map[string]any{"toolsListChanged": true}})
		r.must(err)
		long := http.Client{Transport: client.Transport}
		resp, err := long.Do(req)
		if err == nil {
			streams = append(streams, resp.Body)
			if (resp.StatusCode == http.StatusTooManyRequests) != (i >= most) {
				data, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
				err = fmt.Errorf("%d streams: %s: %s", i+1, resp.Status, data)
			}
		}
		r.check("a stream", err)
	}
	if !k.alive() {
		r.check("the server", errors.New("has ended"))
	}
}
