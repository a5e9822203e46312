package mcpserver_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestHTTPVersions checks the answers to requests whose header and body name protocol versions,
// with a session and without one. All refusals have the status 400 and the call's id.
func TestHTTPVersions(t *testing.T) {
	t.Parallel()
	w := start(t, setting{})
	type data struct {
		Supported []string `json:"supported"`
		Requested string   `json:"requested"`
	}
	all := mcp.SupportedProtocolVersions()
	if !slices.Equal(all, []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}) {
		t.Errorf("the versions are others: %q", all)
	}
	all = slices.DeleteFunc(all, func(v string) bool { return v == "2025-03-26" }) // its servers must accept batches
	const mismatch, unsupported = mcp.CodeHeaderMismatch, mcp.CodeUnsupportedProtocolVersion
	for _, x := range []struct {
		header, body string
		code         int64
		data         *data
	}{
		{modern, modern, 0, nil},
		{"", modern, mismatch, nil},
		{"2025-11-25", modern, mismatch, nil},
		{"2025-06-18", modern, mismatch, nil},
		{"1999-01-01", modern, mismatch, nil},
		{"2027-01-01", modern, mismatch, nil},
		{modern, "2025-11-25", mismatch, nil},
		{modern, "v999.0.0", mismatch, nil},
		{"2025-11-25", "v999.0.0", mismatch, nil},
		{"2025-11-25", "2025-06-18", mismatch, nil},
		{"", "2025-11-25", mismatch, nil},
		{"v999.0.0", "v999.0.0", unsupported, &data{all, "v999.0.0"}},
		{"1999-01-01", "1999-01-01", unsupported, &data{all[:1], "1999-01-01"}},
		{"2025-11-25", "2025-11-25", unsupported, &data{all[:1], "2025-11-25"}}, // a version with sessions, which has no such form of a request
		{"1999-01-01", "", unsupported, &data{all, "1999-01-01"}},
		{"2027-01-01", "", unsupported, &data{all, "2027-01-01"}},
		{modern, "", -32602, nil}, // a call of that version without its _meta
	} {
		for _, session := range []bool{false, true} {
			c := &client{site: w, era: modern}
			if session {
				c = w.dial(legacy)
				c.era = modern
			}
			body := c.body("tools/list", nil)
			if x.body == "" {
				body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
			}
			r := c.request(http.MethodPost, strings.ReplaceAll(body, modern, x.body))
			if r.Header.Set("Mcp-Protocol-Version", x.header); x.header == "" {
				r.Header.Del("Mcp-Protocol-Version")
			}
			resp := do(t, r)
			status, m := resp.StatusCode, read(t, resp)
			if m.code() != x.code || (status == http.StatusBadRequest) != (x.code != 0) || string(m.ID) != "1" {
				t.Errorf("header %q, body %q, session %t: %d, id %s, %+v, want %d", x.header, x.body, session, status, m.ID, m.Error, x.code)
				continue
			}
			if x.data != nil {
				var got data
				must(t, json.Unmarshal(m.Error.Data, &got))
				if diff := cmp.Diff(*x.data, got); diff != "" {
					t.Errorf("header %q, body %q: %s", x.header, x.body, diff)
				}
			}
		}
	}
}
