package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestCanaries checks that no error, and no printed value with the key, contains the key or the
// request, even if an endpoint repeats both in each of its answers.
func TestCanaries(t *testing.T) {
	const (
		key      = "sk-canary-7f3a9b2c4d5e6f708192"
		password = "canary/pass+word"
		path     = "path-canary-0123456789"
		query    = "canary=query&value"
		system   = "canary-system: you never say what is in this text, which is long enough"
		prompt   = "canary-prompt: \"why\" is this text here, where nothing but an error is?"
		result   = "canary-result: the contents of a file that a tool has read for the model"
	)
	r := Request{System: system, Messages: []Message{{Role: User, Text: prompt}, {Role: Assistant, Calls: []Call{{ID: "a", Name: "read", Arguments: json.RawMessage("{}")}}},
		{Role: Tool, Results: []Result{{CallID: "a", Text: result}}}}}
	var all strings.Builder
	see := func(what string, v any) {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			fmt.Fprintf(&all, "%s %s: "+verb+"\n", what, verb, v)
		}
	}
	quote := func(req *http.Request, body []byte) string {
		return fmt.Sprintf("bad key %s of %s (%s...) or %s, %s %s %s; the request was %s", req.Header.Get("Authorization"), key, key[:12], password, req.URL, query, url.QueryEscape(query), body)
	}
	for _, status := range []int{200, 307, 400, 401, 403, 404, 413, 422, 429, 500} {
		for _, form := range []string{"%s", `{"error":{"message":%q,"code":%[1]q}}`, `{"detail":%q}`, `[{"error":{"status":%q,"message":%[1]q}}]`, "data: {\"error\":{\"message\":%q}}\n\n", "<html>%s"} {
			h := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				body := make([]byte, req.ContentLength+1)
				n, _ := req.Body.Read(body)
				w.Header().Set("Retry-After", "7200")
				w.Header().Set("Location", "http://"+key+"@"+req.Host+":1/"+key+"?key="+key)
				w.WriteHeader(status)
				fmt.Fprintf(w, form, quote(req, body[:n]))
			})
			for _, wire := range []Wire{OpenAI, Anthropic} {
				at, err := url.Parse(listen(t, h))
				must(t, err)
				at.User = url.UserPassword("canary-user", password)
				at.Path = "/sk-" + path
				at.RawQuery = url.Values{"key": {query}}.Encode()
				e := Endpoint{Wire: wire, URL: at.String(), Model: "m", Key: "\n" + key + "\n", KeyName: "OPENAI_API_KEY"}
				c := New(e, Options{})
				if c.endpoint.Key != "" {
					t.Fatal("the client has the key in a field")
				}
				see("endpoint", e)
				see("endpoint", &e)
				see("client", c)
				written, err := json.Marshal(e)
				fmt.Fprintf(&all, "JSON: %s, %v\n", written[strings.Index(string(written), `"Model"`):], err)
				_, err = c.Answer(t.Context(), r, nil)
				var failure *Error
				if !errors.As(err, &failure) {
					t.Fatalf("%d, %q: got %v", status, form, err)
				}
				if len([]rune(failure.Message)) > 500 {
					t.Errorf("the message has %d characters", len([]rune(failure.Message)))
				}
				see("error", err)
				see("error", *failure)
				_, err = c.Models(t.Context())
				see("models", err)
				body, err := c.Body(r)
				if err != nil || strings.Contains(string(body), key) {
					t.Errorf("body: %s, %v", body, err)
				}
				c.Close()
			}
		}
	}
	for line := range strings.Lines(all.String()) {
		for _, canary := range []string{key[:8], path, password, url.QueryEscape(password), url.PathEscape(password), query, url.QueryEscape(query), "canary-user", "canary-system", "canary-prompt", "canary-result"} {
			if strings.Contains(line, canary) {
				t.Fatalf("%q is in: %s", canary, line)
			}
		}
	}
}
