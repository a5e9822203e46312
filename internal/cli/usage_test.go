//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestUsageIsKept checks that a server continues the counts of the server before it, and that each
// reader gets only the counts of the skills that the reader sees.
func TestUsageIsKept(t *testing.T) {
	dir, etc := t.TempDir(), t.TempDir()
	for _, name := range []string{"common", "secret"} {
		put(t, filepath.Join(dir, name, "SKILL.md"), "---\nname: "+name+"\ndescription: One.\n---\nWORDS\n")
	}
	anna, annaLine := access.NewToken()
	bert, bertLine := access.NewToken()
	config, file := filepath.Join(etc, "knack.yaml"), filepath.Join(etc, "state", "usage.json")
	put(t, config, "access:\n  default: allow\n  tokens:\n    - {hash: "+annaLine+", subject: anna-of-accounts}\n    - {hash: "+bertLine+", subject: bert}\n"+
		"  rules:\n    - {subjects: [bert], deny: [\"skill://secret\"]}\nusage: {file: state/usage.json}\n")
	type figures struct {
		Kept    bool
		Count   struct{ Loaded, Read, Offered int }
		Missing []struct {
			Name  string
			Times int
		}
		Skills []struct{ Name string }
	}
	for round := 1; round <= 2; round++ {
		t.Run("", func(t *testing.T) {
			url, log := servingLog(t, "--dir", dir, "--config", config)
			a := &asker{t: t, url: url}
			skill := func(token, name string) {
				a.call("2026-07-28", token, "tools/call", "skill", `{"name":"skill","arguments":{"name":"`+name+`"}}`)
			}
			skill(anna, "common")
			skill(anna, "secret")
			skill(bert, "secret") // hidden
			for range 2 {
				skill(bert, "Deploy")
				a.call("2026-07-28", anna, "resources/read", "skill://away/SKILL.md", `{"uri":"skill://away/SKILL.md"}`)
				a.call("2026-07-28", anna, "prompts/get", "away", `{"name":"away"}`)
			}
			a.call("2026-07-28", anna, "resources/read", "skill://common/none.txt", `{"uri":"skill://common/none.txt"}`)
			figuresOf := func(token string) (f figures) {
				_, text, _ := a.send("GET", "/api/v1/usage", token, "")
				if err := json.Unmarshal([]byte(text), &f); err != nil {
					t.Fatal(text)
				}
				return f
			}
			var whole, some figures
			whole.Kept, some.Kept = true, true
			whole.Count.Loaded, some.Count.Loaded = 2*round, round
			whole.Skills, some.Skills = []struct{ Name string }{{"common"}, {"secret"}}, []struct{ Name string }{{"common"}}
			for _, name := range []string{"away", "deploy", "skill://away/SKILL.md"} {
				whole.Missing = append(whole.Missing, struct {
					Name  string
					Times int
				}{name, 2 * round})
			}
			// The server answers before it has read the file.
			testwait.Within(testwait.Patience, func() bool { return figuresOf(anna).Count.Loaded == whole.Count.Loaded })
			if diff := cmp.Diff(whole, figuresOf(anna)); diff != "" {
				t.Errorf("round %d: a reader who sees all: -want +got\n%s", round, diff)
			}
			if diff := cmp.Diff(some, figuresOf(bert)); diff != "" {
				t.Errorf("round %d: a reader with a rule: -want +got\n%s", round, diff)
			}
			_, metrics, _ := a.send("GET", "/metrics", anna, "")
			if !strings.Contains(metrics, `knack_skill_uses_total{client="new",use="loaded"} 2`) {
				t.Errorf("round %d: the metrics do not begin at zero:\n%s", round, metrics)
			}
			if strings.Contains(log(), "level=") {
				t.Errorf("the log says %s", log())
			}
		})
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"anna", "bert", "accounts", "127.0.0.1", "WORDS"} {
		if strings.Contains(string(data), word) {
			t.Errorf("the file has %s: %s", word, data)
		}
	}
}
