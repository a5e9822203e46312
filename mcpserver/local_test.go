package mcpserver_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/access"
)

// baseDirectories returns the folder of a skill, as the tool skill names it and as a prompt names
// it.
func baseDirectories(t *testing.T, c *client) (dirs [2]string) {
	t.Helper()
	for i, text := range []string{
		string(c.call("tools/call", map[string]any{"name": "skill", "arguments": map[string]any{"name": "d-types"}}).Result),
		string(c.call("prompts/get", map[string]any{"name": "d-types"}).Result),
	} {
		_, dir, _ := strings.Cut(text, "Base directory: ")
		dirs[i], _, _ = strings.Cut(dir, `\n`)
	}
	return dirs
}

// TestBaseDirectoryOverHTTP checks that over HTTP, the folder of a skill is named only to the user
// of this machine, and to no client that may be another user's.
func TestBaseDirectoryOverHTTP(t *testing.T) {
	const uri = "skill://d-types"
	files := map[string]string{"d-types/SKILL.md": fixtures()["d-types/SKILL.md"]}
	for name, row := range map[string]struct {
		local  bool
		header http.Header
		policy *access.Policy
		folder bool
	}{
		"on this machine":         {local: true, folder: true},
		"on any machine":          {},
		"passed on":               {local: true, header: http.Header{"X-Forwarded-For": {"203.0.113.9"}}},
		"passed on, by RFC 7239":  {local: true, header: http.Header{"Forwarded": {"for=203.0.113.9"}}},
		"passed on, by RFC 9110":  {local: true, header: http.Header{"Via": {"1.1 proxy"}}},
		"passed on, to a site":    {local: true, header: http.Header{"X-Forwarded-Host": {"skills.example.com"}}},
		"passed on, in TLS":       {local: true, header: http.Header{"X-Forwarded-Proto": {"https"}}},
		"passed on, for somebody": {local: true, header: http.Header{"X-Real-Ip": {"203.0.113.9"}}},
		"while a policy holds":    {local: true, policy: access.NewPolicy(true, nil)},
	} {
		w := start(t, setting{local: row.local, policy: row.policy, files: files})
		w.header = row.header
		want := uri
		if row.folder {
			want = filepath.ToSlash(filepath.Join(w.dir, "d-types"))
		}
		for _, era := range eras {
			t.Run(name+" "+era, func(t *testing.T) {
				for i, dir := range baseDirectories(t, w.dial(era)) {
					var text string
					_ = json.Unmarshal([]byte(`"`+dir+`"`), &text)
					if filepath.ToSlash(text) != want {
						t.Errorf("%s names %s, not %s", [...]string{"the tool", "the prompt"}[i], text, want)
					}
				}
			})
		}
	}
	t.Run("with a token", func(t *testing.T) {
		token, line := access.NewToken()
		tokens, err := access.ParseTokens(strings.NewReader(line))
		must(t, err)
		w := start(t, setting{local: true, verifier: tokens, files: files})
		w.token = token
		for i, dir := range baseDirectories(t, w.dial(modern)) {
			if dir != uri {
				t.Errorf("%d: %s", i, dir)
			}
		}
	})
}
