//go:build linux

package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// end stops the replica with SIGTERM, as systemd does, and returns how long that took.
func (r *replica) end() time.Duration {
	r.Helper()
	begun := time.Now()
	must(r.T, r.cmd.Process.Signal(syscall.SIGTERM))
	if err := r.cmd.Wait(); err != nil {
		r.Errorf("the replica ends with %v:\n%s", err, r.said())
	}
	r.cmd = nil
	return time.Since(begun)
}

// get returns the status and the body of the answer to a GET.
func (r *replica) get(path string) (int, string) {
	r.Helper()
	code, body, err := get(r.Context(), http.DefaultClient, r.url+path, "")
	must(r.T, err)
	return code, body
}

// ready waits until the replica is ready.
func (r *replica) ready() {
	r.Helper()
	testwait.Until(r, func() bool {
		code, text := r.get("/readyz")
		return code == http.StatusOK && !strings.Contains(text, "missing")
	}, "the replica is not ready", r.said)
}

// serves waits until the replica serves a release.
func (r *replica) serves(digest string) {
	r.Helper()
	testwait.Until(r, func() bool {
		_, metrics := r.get("/metrics")
		return strings.Contains(metrics, `digest="`+digest+`"`)
	}, "the replica does not serve "+digest, r.said)
}

// action is a line of the audit log about an action of a source.
type action struct {
	Time                                           time.Time
	Surface, Method, Release, From, Result, Reason string
	Added, Changed, Removed                        int
}

// actions returns the lines of the audit log about sources.
func (r *replica) actions() (all []action) {
	r.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, "audit.log"))
	must(r.T, err)
	for line := range bytes.Lines(data) {
		var a action
		if json.Unmarshal(line, &a) == nil && a.Surface == "source" {
			all = append(all, a)
		}
	}
	return all
}

// call sends an MCP request without a session, and decodes its result into into.
func call(client *http.Client, url, method, name, params string, into any) error {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"fleet","version":"1"}}`
	if params != "" {
		params += ","
	}
	req, err := http.NewRequest(http.MethodPost, url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+meta+`}}`))
	if err != nil {
		return err
	}
	for key, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name} {
		if value != "" {
			req.Header.Set(key, value)
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return fmt.Errorf("%s: %w: %.200s", resp.Status, err, data)
	}
	if answer.Error != nil {
		return rpcError{answer.Error.Code, answer.Error.Message}
	}
	return json.Unmarshal(answer.Result, into)
}

// rpcError is a JSON-RPC error in a server's answer.
type rpcError struct {
	Code    int
	Message string
}

func (e rpcError) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Message) }

// entry is a skill in a list, with the digests of its files.
type entry struct {
	URI       string
	Resources []struct {
		URI, Digest string
		Size        int
	}
}

// page is the result of skills/list.
type page struct {
	Skills     []entry
	NextCursor string
}

// listSkills returns the page of the list of skills at a cursor.
func listSkills(client *http.Client, url, cursor string) (p page, err error) {
	params := ""
	if cursor != "" {
		params = `"cursor":"` + cursor + `"`
	}
	err = call(client, url, "skills/list", "", params, &p)
	return p, err
}

// contents returns the text of a file of a skill.
func contents(client *http.Client, url, uri string) (string, error) {
	var r struct{ Contents []struct{ Text string } }
	if err := call(client, url, "resources/read", uri, `"uri":"`+uri+`"`, &r); err != nil {
		return "", err
	}
	if len(r.Contents) != 1 {
		return "", fmt.Errorf("%d contents", len(r.Contents))
	}
	return r.Contents[0].Text, nil
}
