package mcpserver_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/skill"
)

// told returns the status, content type and message of an answer.
func told(t testing.TB, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(t, err)
	kind := resp.Header.Get("Content-Type")
	if strings.HasPrefix(kind, "text/event-stream") {
		var messages [][]byte
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			if d, ok := bytes.CutPrefix(line, []byte("data: ")); ok && len(d) > 0 {
				messages = append(messages, d)
			}
		}
		data = bytes.Join(messages, []byte("\n"))
	}
	return fmt.Sprintf("%s %s %q %s", resp.Status, kind, resp.Header["Cache-Control"], data)
}

// requests are calls of every method, good and bad.
func requests() []struct {
	method string
	params string
} {
	type r = struct{ method, params string }
	all := []r{
		{"tools/call", `{"name":"skill","arguments":{"name":"a-first"}}`},
		{"tools/call", `{"name":"skill","arguments":{"command":"A-First"}}`},
		{"tools/call", `{"arguments":{"name":"d-types"},"name":"skill"}`},
		{"tools/call", `{"name":"skill","arguments":{"name":"skill://a-first/SKILL.md"}}`},
		{"tools/call", `{"name":"skill","arguments":{"name":"nobody"}}`},
		{"tools/call", `{"name":"skill","arguments":{"name":""}}`},
		{"tools/call", `{"name":"skill","arguments":{"name":1}}`},
		{"tools/call", `{"name":"skill","arguments":{"name":"h-hidden"}}`},
		{"tools/call", `{"name":"skill"}`},
		{"tools/call", `{"name":"nothing","arguments":{}}`},
		{"tools/call", `{"name":"read_file_in_skill","arguments":{"skill_name":"a-first","file_path":"scripts/run.sh"}}`},
		{"tools/call", `{"name":"read_file_in_skill","arguments":{"skill_name":"a-first","file_path":"scripts"}}`},
		{"tools/call", `{"name":"read_file_in_skill","arguments":{"skill_name":"a-first","file_path":"../b-crlf/SKILL.md"}}`},
		{"tools/call", `{"name":"find_skills","arguments":{"query":"types"}}`},
		{"tools/list", `{}`}, {"resources/list", `{}`}, {"skills/list", `{}`}, {"prompts/list", `{}`}, {"ping", `{}`}, {"no/such", `{}`}, {"", `{}`},
	}
	for _, uri := range []string{
		"skill://a-first/SKILL.md", "skill://a-first/scripts/run.sh", "skill://a-first/data.bin", "skill://a-first/empty-file.txt", "skill://a-first/inner/SKILL.md",
		"skill://b-crlf/SKILL.md", "skill://c-bom/SKILL.md", "skill://d-types/SKILL.md", "skill://i-lower/SKILL.md", "skill://p-q/SKILL.md", "skill://f-bad/SKILL.md",
		"skill://a-first/%C3%BCn%C3%AF%20%E2%98%83.md", "skill://nobody/SKILL.md", "skill://a-first", "skill://a-first/.env", "skill://a-first/SKILL.md?x", "file:///etc/passwd", "", "\\ud800",
	} {
		for _, method := range []string{"resources/read", "skills/get", "resources/directory/read"} {
			all = append(all, r{method, `{"uri":"` + uri + `"}`})
		}
	}
	return append(all, r{"resources/read", `{}`}, r{"resources/read", `[]`}, r{"resources/read", `{"uri":1}`}, r{"skills/get", `null`}, r{"tools/call", `"x"`})
}

// bodyOf writes a call by hand, so that no library corrects it.
func (c *client) bodyOf(id, method, params string) string {
	if c.era >= modern && strings.HasPrefix(params, "{") {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + c.era + `","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`
		if params = params[1:]; params != "}" {
			meta += ","
		}
		params = "{" + meta + params
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`
}

// TestTransportsAgree checks that every request gets the same result or the same error over pipes
// and in a session over HTTP.
func TestTransportsAgree(t *testing.T) {
	w := start(t, setting{})
	pipe, web := talk(t, w.server, legacy), w.dial(legacy)
	for _, r := range requests() {
		call := web.bodyOf("7", r.method, r.params)
		if diff := cmp.Diff(read(t, web.post(call)), pipe.call(t, call)); diff != "" {
			t.Errorf("%s %s: HTTP -, stdio +\n%s", r.method, r.params, diff)
		}
	}
}

// TestAnswersFollowTheDisk checks that the next answer to a request has the new state after the
// files of an answer have changed.
func TestAnswersFollowTheDisk(t *testing.T) {
	for name, c := range map[string]struct {
		method, params string
		change         func(root string) error
		want           string // in the answer, afterwards
	}{
		"the text of a skill": {"tools/call", `{"name":"skill","arguments":{"name":"a-first"}}`, func(root string) error {
			return os.WriteFile(filepath.Join(root, "a-first/SKILL.md"), []byte(skillText("a-first", "Has all.")+"newer"), 0o644)
		}, "newer"},
		"a file is rewritten with its size and time": {"resources/read", `{"uri":"skill://a-first/templates/deep/t.md"}`, func(root string) error {
			at := filepath.Join(root, "a-first/templates/deep/t.md")
			fi, err := os.Stat(at)
			if err == nil {
				err = os.WriteFile(at, []byte("Z"), 0o644)
			}
			if err == nil {
				err = os.Chtimes(at, fi.ModTime(), fi.ModTime())
			}
			return err
		}, `"text":"Z"`},
		"a file of an entry": {"skills/get", `{"uri":"skill://a-first/SKILL.md"}`, func(root string) error {
			return os.WriteFile(filepath.Join(root, "a-first/crlf.txt"), []byte("newer"), 0o644)
		}, skill.DigestOf([]byte("newer")).String()},
		"the SKILL.md of an entry": {"skills/get", `{"uri":"skill://a-first/SKILL.md"}`, func(root string) error {
			return os.WriteFile(filepath.Join(root, "a-first/SKILL.md"), []byte(skillText("a-first", "Newer.")), 0o644)
		}, `"frontmatter":{"name":"a-first","description":"Newer."}`},
		"the SKILL.md as a resource": {"resources/read", `{"uri":"skill://a-first/SKILL.md"}`, func(root string) error {
			return os.WriteFile(filepath.Join(root, "a-first/SKILL.md"), []byte(skillText("a-first", "Newer.")), 0o644)
		}, "description: Newer."},
		"an entry goes": {"skills/get", `{"uri":"skill://a-first/SKILL.md"}`, func(root string) error {
			return os.RemoveAll(filepath.Join(root, "a-first"))
		}, "No skill is served at"},
		"a skill goes": {"resources/read", `{"uri":"skill://a-first/SKILL.md"}`, func(root string) error {
			return os.RemoveAll(filepath.Join(root, "a-first"))
		}, "no such file"},
		"a file comes into an empty folder": {"skills/get", `{"uri":"skill://a-first/SKILL.md"}`, func(root string) error {
			return os.WriteFile(filepath.Join(root, "a-first/empty/came.txt"), []byte("x"), 0o644)
		}, "came.txt"},
		"a file goes": {"resources/read", `{"uri":"skill://a-first/crlf.txt"}`, func(root string) error {
			return os.Remove(filepath.Join(root, "a-first/crlf.txt"))
		}, "no such file"},
		"a link out of the skill takes a file's place": {"resources/read", `{"uri":"skill://a-first/crlf.txt"}`, func(root string) error {
			at := filepath.Join(root, "a-first/crlf.txt")
			if err := os.Remove(at); err != nil {
				return err
			}
			return os.Symlink("../b-crlf/SKILL.md", at)
		}, "no such file"},
		"a link takes a folder's place": {"resources/read", `{"uri":"skill://a-first/templates/deep/t.md"}`, func(root string) error {
			if err := os.Rename(filepath.Join(root, "a-first/templates"), filepath.Join(root, "elsewhere")); err != nil {
				return err
			}
			return os.Symlink("../elsewhere", filepath.Join(root, "a-first/templates"))
		}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, setting{files: fixtures()})
			ask := w.dial(modern)
			call := ask.bodyOf("1", c.method, c.params)
			if before := told(t, ask.post(call)); strings.Contains(before, c.want) {
				t.Fatalf("before the change: %s", before)
			}
			must(t, c.change(w.dir))
			if after := told(t, ask.post(call)); !strings.Contains(after, c.want) {
				t.Errorf("after the change: %s", after)
			}
		})
	}
}

// oneHolder is a verifier that accepts every token as the token of one subject. The name of the
// subject can change.
type oneHolder struct {
	mu   sync.Mutex
	name string
}

func (h *oneHolder) Verify(context.Context, string) (access.Subject, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return access.Subject{Name: h.name}, true
}

// TestUseNamesTheCurrentHolder checks that events have the new name after a token's holder was
// renamed.
func TestUseNamesTheCurrentHolder(t *testing.T) {
	holder := &oneHolder{name: "before"}
	var events eventLog
	w := start(t, setting{private: true, verifier: holder, events: &events})
	w.token = "any"
	c := w.dial(modern)
	ask := func() {
		for id := range 3 {
			told(t, c.post(c.bodyOf(strconv.Itoa(id), "resources/read", `{"uri":"skill://a-first/SKILL.md"}`)))
		}
	}
	ask()
	holder.mu.Lock()
	holder.name = "after"
	holder.mu.Unlock()
	ask()
	var names []string
	for _, e := range events.take() {
		names = append(names, e.Subject)
	}
	if got := strings.Join(names, " "); got != "before before before after after after" {
		t.Error(got)
	}
}
