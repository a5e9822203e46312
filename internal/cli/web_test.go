//go:build unix

package cli_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
)

// fetch asks a server for a page.
func fetch(t *testing.T, url string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		key, value, _ := strings.Cut(h, ": ")
		req.Header.Set(key, value)
		if key == "Host" {
			req.Host = value
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestPagesStandBehindTheGuards checks host, origin and token for pages as for MCP, and
// none of them for health checks.
func TestPagesStandBehindTheGuards(t *testing.T) {
	token, line := access.NewToken()
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(line+" test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSuffix(startServer(t, "--dir", skills(t), "--token-file", file), "/mcp")
	bearer := "Authorization: Bearer " + token
	for _, path := range []string{
		"/", "/skills/one/", "/skills/one/x/y.txt", "/raw/one/SKILL.md", "/health", "/usage", "/connect", "/metrics", "/api/v1/skills", "/api/v1/openapi.json",
		"/api/v1/skills/one", "/api/v1/files/one/SKILL.md", "/api/v1/problems", "/.well-known/agent-skills/index.json", "/.well-known/agent-skills/one/SKILL.md",
	} {
		for _, c := range []struct {
			want    int
			headers []string
		}{
			{200, []string{bearer}},
			{401, nil},
			{401, []string{"Authorization: Bearer " + token + "x"}},
			{403, []string{bearer, "Host: rebound.example"}},
			{403, []string{bearer, "Origin: https://evil.example"}},
		} {
			code, body := fetch(t, base+path, c.headers...)
			if code != c.want || code != 200 && (strings.Contains(body, "One.") || strings.Contains(body, token)) {
				t.Errorf("%s with %q: %d, want %d", path, c.headers, code, c.want)
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := fetch(t, base+path); code != 200 || body != "ok\n" {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
	if code, body := fetch(t, base+"/connect", bearer); code != 200 || !strings.Contains(body, "Authorization: Bearer") {
		t.Errorf("the page does not say that a token is needed: %d", code)
	}
}

// TestPagesCountUses checks that a client's uses are on the page and in the metrics.
func TestPagesCountUses(t *testing.T) {
	url := startServer(t, "--dir", skills(t))
	ctx := context.Background()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "walker", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, err := session.ListTools(ctx, nil); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]map[string]any{
		"skill":              {"name": "one"},
		"read_file_in_skill": {"skill_name": "one", "file_path": "x/y.txt"},
		"find_skills":        {"query": "one"},
	} {
		if res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args}); err != nil || res.IsError {
			t.Fatalf("%s: %v %v", name, res, err)
		}
	}
	// A failed call is not a use.
	if res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "read_file_in_skill", Arguments: map[string]any{"skill_name": "one", "file_path": "none"}}); err != nil || !res.IsError {
		t.Fatalf("%v %v", res, err)
	}
	if _, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "skill://one/SKILL.md"}); err != nil {
		t.Fatal(err)
	}
	if _, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "one"}); err != nil {
		t.Fatal(err)
	}
	_, metrics := fetch(t, strings.TrimSuffix(url, "/mcp")+"/metrics")
	for _, want := range []string{
		`knack_skill_uses_total{client="walker",use="offered"} 1`, `knack_skill_uses_total{client="walker",use="loaded"} 3`, `knack_skill_uses_total{client="walker",use="read"} 1`,
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
}

// TestPagesKeepOutOfSight checks that no page, answer, list, number or error reveals a
// hidden skill, and that each shows it to permitted subjects.
func TestPagesKeepOutOfSight(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"open/SKILL.md":        "---\nname: open\ndescription: For all.\n---\n[it](skill://hush/SKILL.md)\n",
		"hush/SKILL.md":        "---\nname: hush\ndescription: Canary words.\n---\n# Canary\n",
		"hush/notes.md":        "canary\n",
		"hush-broken/SKILL.md": "---\nname: hush-broken\n---\n",
		"hush-odd/SKILL.md":    "---\nname: Hush Odd\ndescription: Canary.\n---\n",
		"twin/SKILL.md":        "---\nname: hush\ndescription: Canary of the same name.\n---\n",
	} {
		put(t, filepath.Join(dir, name), text)
	}
	insider, insiderLine := access.NewToken()
	guest, guestLine := access.NewToken()
	config := filepath.Join(t.TempDir(), "knack.yaml")
	put(t, config, "access:\n  default: deny\n  tokens:\n    - {hash: "+insiderLine+", subject: insider, groups: [in]}\n    - {hash: "+guestLine+", subject: guest}\n"+
		"  rules:\n    - {groups: [in], allow: [\"skill://**\"]}\n    - allow: [\"skill://open\"]\n")
	base := strings.TrimSuffix(startServer(t, "--dir", dir, "--config", config), "/mcp")
	ask := func(token, path string) (int, string) { return fetch(t, base+path, "Authorization: Bearer "+token) }
	// A client uses the skill, so that there are numbers that could reveal it.
	session, err := mcp.NewClient(&mcp.Implementation{Name: "hush-agent", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: base + "/mcp", HTTPClient: &http.Client{Transport: bearing(insider)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://hush/notes.md"}); err != nil {
		t.Fatal(err)
	}
	_, skipped := ask(insider, "/?state=skipped")
	story := regexp.MustCompile(`/health/skipped-[0-9a-f]+`).FindString(skipped)
	if story == "" {
		t.Fatal("no skill is skipped for those who see all")
	}
	telling := map[string]int{ // for a guest
		"/": 200, "/?q=canary": 200, "/?state=skipped": 200, "/?state=problems": 200, "/?state=shadowed": 200, "/health": 200, "/usage": 200, "/metrics": 200,
		"/api/v1/skills": 200, "/api/v1/skills?q=canary": 200, "/api/v1/skills?state=skipped": 200, "/api/v1/problems": 200, "/.well-known/agent-skills/index.json": 200,
		"/skills/hush/": 404, "/skills/hush/?view=agent": 404, "/skills/hush/?view=source": 404, "/skills/hush/notes.md": 404, "/raw/hush/SKILL.md": 404, "/raw/hush/notes.md": 404,
		"/api/v1/skills/hush": 404, "/api/v1/files/hush/SKILL.md": 404, "/api/v1/files/hush/notes.md": 404, "/api/v1/problems/hush-odd": 404,
		"/.well-known/agent-skills/hush/SKILL.md": 404, story: 404,
	}
	for path, want := range telling {
		code, body := ask(insider, path)
		if low := strings.ToLower(body); code != 200 || !strings.Contains(low, "hush") && !strings.Contains(low, "canary") && !strings.Contains(low, "twin") {
			t.Errorf("%s tells an insider nothing: %d", path, code)
		}
		code, body = ask(guest, path)
		if code != want {
			t.Errorf("%s as a guest: %d, want %d", path, code, want)
		}
		if code == 200 && strings.Contains(path, "canary") {
			body = strings.ReplaceAll(body, "canary", "") // the question itself
		}
		if low := strings.ToLower(body); strings.Contains(low, "hush") || strings.Contains(low, "canary") || strings.Contains(low, "twin") {
			t.Errorf("%s tells a guest:\n%s", path, body)
		}
	}
	for _, path := range []string{"/skills/open/", "/skills/open/?view=agent", "/api/v1/skills/open"} {
		if code, _ := ask(guest, path); code != 200 {
			t.Errorf("%s as a guest: %d", path, code)
		}
	}
	if _, body := ask(guest, "/skills/open/"); strings.Contains(body, `href="/skills/hush/"`) {
		t.Error("a link tells a guest that there is a skill")
	}
}

// TestLongSearch checks that a search of 100 kB is refused unread, and that a shorter one
// is cut.
func TestLongSearch(t *testing.T) {
	base := strings.TrimSuffix(startServer(t, "--dir", skills(t)), "/mcp")
	for _, path := range []string{"/?q=", "/api/v1/skills?q="} {
		if code, body := fetch(t, base+path+strings.Repeat("one%20", 17_000)); code != http.StatusRequestHeaderFieldsTooLarge || len(body) > 200 {
			t.Errorf("%s of 100 kB: %d, %d bytes", path, code, len(body))
		}
		if code, body := fetch(t, base+path+strings.Repeat("one%20", 5_000)); code != 200 || len(body) > 30_000 {
			t.Errorf("%s of 30 kB: %d, %d bytes", path, code, len(body))
		}
	}
}

// bearing sends a token with every request.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
