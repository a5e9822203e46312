package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

const answered = `{"choices":[{"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}`

func jsonError(message string) string { return `{"error":{"message":"` + message + `"}}` }

// TestFailures checks the text of each failure.
func TestFailures(t *testing.T) {
	const models = `{"object":"list","data":[{"id":"llama"},{"id":"qwen"}]}`
	for _, f := range []struct {
		name     string
		e        Endpoint
		status   int
		body     string
		models   string // the body of /models, "" is 404
		category Category
		says     string // after the host
	}{
		{"no key", Endpoint{}, 401, jsonError("No key"), "", Auth, " asks for a key: name the variable or the file that has one (401): No key"},
		{"an empty key", Endpoint{KeyName: "OPENAI_API_KEY"}, 401, "", "", Auth, " asks for a key, and OPENAI_API_KEY has none: set it (401)"},
		{"a wrong key", Endpoint{KeyName: "OPENAI_API_KEY", Key: "secret-key"}, 401, jsonError("Incorrect API key provided: secret-key."), "", Auth,
			" refuses the key in OPENAI_API_KEY: check that it is complete, and may use this model (401): Incorrect API key provided: [redacted]."},
		{"a key that may not", Endpoint{KeyName: "key.txt", Key: "secret-key"}, 403, `{"detail":"Not for you"}`, "", Auth,
			" refuses the key in key.txt: check that it is complete, and may use this model (403): Not for you"},
		{"a key without a name", Endpoint{Key: "secret-key"}, 401, "no", "", Auth, " refuses the key (401): no"},
		{"Gemini's wrong key", Endpoint{KeyName: "GEMINI_API_KEY", Key: "secret-key"}, 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, "", Auth,
			" refuses the key in GEMINI_API_KEY: check that it is complete, and may use this model (400): API key not valid. Please pass a valid API key."},
		{"no such model", Endpoint{Model: "nope"}, 404, jsonError("model not found"), models, NotFound, " has no model 'nope' (404): model not found; it has llama, qwen"},
		{"no such model, as a bad request", Endpoint{Model: "nope"}, 400, jsonError("nope is not a valid model ID"), models, NotFound, " has no model 'nope' (400): nope is not a valid model ID; it has llama, qwen"},
		{"no such address", Endpoint{}, 404, "404 page not found\n", "", NotFound,
			" has no such model, or nothing at this address: look whether the URL is right; a URL of Chat Completions usually ends in /v1 (404): 404 page not found"},
		{"too long, OpenAI", Endpoint{}, 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 10,240 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`, "", TooLong,
			" does not take a conversation of 10,240 tokens with the model 'm' (400): This model's maximum context length is 8192 tokens. However, your messages resulted in 10,240 tokens. Begin a new conversation."},
		{"too long, Anthropic", Endpoint{Wire: Anthropic, Model: "c-20260101"}, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 209876 tokens > 200000 maximum"}}`, "", TooLong,
			" does not take a conversation of 209,876 tokens with the model 'c-20260101' (400): prompt is too long: 209876 tokens > 200000 maximum; begin a new conversation"},
		{"too long, llama.cpp", Endpoint{}, 400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`, "", TooLong,
			" does not take a conversation of 5,000 tokens with the model 'm' (400): the request exceeds the available context size; begin a new conversation"},
		{"too long, without numbers", Endpoint{}, 413, "<html>", "", TooLong, " does not take a conversation with the model 'm' (413); begin a new conversation"},
		{"a used-up quota", Endpoint{}, 429, `{"error":{"message":"You exceeded your current quota.","type":"insufficient_quota"}}`, "", Rate, " has had too many requests (429): You exceeded your current quota. Try again later."},
		{"no money", Endpoint{}, 402, jsonError("Insufficient credits"), "", Refused, " does not accept the request (402): Insufficient credits"},
		{"a bad request, FastAPI", Endpoint{}, 422, `{"detail":[{"loc":["body","messages",0,"content"],"msg":"Input should be a string","input":"Hello"}]}`, "", Refused, " does not accept the request (422): body.messages.0.content: Input should be a string"},
		{"a bad request, Mistral", Endpoint{}, 422, `{"object":"error","message":{"detail":[{"loc":["body","x"],"msg":"Extra inputs are not permitted","input":true}]},"type":"invalid_request_error"}`, "", Refused, " does not accept the request (422): body.x: Extra inputs are not permitted"},
		{"a bad request without words", Endpoint{}, 400, `{"error":{"code":7}}`, "", Refused, " does not accept the request (400)"},
		{"a web page", Endpoint{}, 400, "<!DOCTYPE html><title>Bad gateway</title>", "", Refused, " does not accept the request (400)"},
		{"a web page as the answer", Endpoint{}, 200, "<!DOCTYPE html><title>Router</title>", "", Shape, " answers with a web page: look whether the URL is right; a URL of Chat Completions usually ends in /v1"},
		{"something else as the answer", Endpoint{}, 200, `{"status":"ok"}`, "", Shape, " sent something that is not an answer of a model: look whether the URL is right"},
		{"a damaged piece of an answer", Endpoint{}, 200, stream(delta(`{"content":"Hel"}`), `{"choices":[{"del`, delta(`{"content":"lo"}`)), "", Network, " sent an answer with a damaged piece: try again, or look at the proxy in between"},
		{"a text as the answer", Endpoint{}, 200, "hello", "", Shape, " sent something that is not an answer of a model: look whether the URL is right"},
		{"no event of an answer", Endpoint{}, 200, stream("[DONE]"), "", Shape, " sent something that is not an answer of a model: look whether the URL is right"},
		{"a cut stream", Endpoint{}, 200, stream(delta(`{"content":"Hel"}`)), "", Network, " broke off in the middle of its answer: try again"},
		{"a failure as the answer", Endpoint{}, 200, `{"error":{"message":"Overloaded","code":502}}`, "", Server, " has failed (502): Overloaded; try again later"},
		{"a failure in the stream", Endpoint{}, 200, stream(delta(`{"content":"Hel"}`), `{"error":{"message":"You are too fast","type":"rate_limit_error"}}`), "", Rate, " has had too many requests: You are too fast; try again later"},
		{"Anthropic's failure in the stream", Endpoint{Wire: Anthropic}, 200, "event: error\n" + stream(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), "", Server, " has failed: Overloaded; try again later"},
		{"vLLM's failure in the stream", Endpoint{}, 200, stream(`{"object":"error","message":"Out of memory","type":"InternalServerError","code":500}`, "[DONE]"), "", Server, " has failed (500): Out of memory; try again later"},
		{"Ollama's failure in the stream", Endpoint{}, 200, stream(delta(`{"content":"Hel"}`), `{"error":"the runner has stopped"}`), "", Server, " has failed: the runner has stopped; try again later"},
		{"no models at all", Endpoint{Model: "nope"}, 404, jsonError("model not found"), `{"object":"list","data":null}`, NotFound, " has no model 'nope' (404): model not found"},
		{"a wrong key in the stream", Endpoint{}, 200, stream(`{"error":{"message":"No","type":"authentication_error"}}`), "", Auth, " asks for a key: name the variable or the file that has one: No"},
		{"a status that is no failure", Endpoint{}, 304, "", "", Network, " redirects to no address: look whether the URL is right (304)"},
	} {
		t.Run(f.name, func(t *testing.T) {
			s := &script{replies: []reply{{status: f.status, body: f.body}}}
			host := ""
			_, err := ask(t, f.e, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				host = r.Host
				if !strings.HasSuffix(r.URL.Path, "/models") {
					s.ServeHTTP(w, r)
				} else if f.models == "" {
					http.NotFound(w, r)
				} else {
					_, _ = io.WriteString(w, f.models)
				}
			}))
			e := failed(t, err, f.category)
			diff(t, "the error", e.Error(), host+f.says)
			if n := len(s.requests()); n != 1 {
				t.Errorf("it was asked %d times", n)
			}
		})
	}
}

// TestLongMessage checks that a message has at most 500 characters, in one line.
func TestLongMessage(t *testing.T) {
	_, err := ask(t, Endpoint{}, &script{replies: []reply{{status: 400, body: jsonError(strings.Repeat(`å\n`, 300))}}})
	diff(t, "the message", failed(t, err, Refused).Message, strings.Repeat("å ", 249)+"å…")
}

// TestTries checks that a request with a transient failure is sent up to three times.
func TestTries(t *testing.T) {
	bad := func(status int, header string) reply {
		return reply{status: status, header: header, body: jsonError("Wait")}
	}
	good := reply{body: answered}
	cut := reply{then: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}
	date := "Retry-After: " + time.Date(2000, 1, 1, 0, 0, 21, 0, time.UTC).Format(http.TimeFormat) // a bubble begins in 2000
	for _, f := range []struct {
		name    string
		replies []reply
		asked   int
		lasts   time.Duration
		says    string
	}{
		{"500 twice", []reply{bad(500, ""), bad(500, ""), good}, 3, 3 * time.Second, ""},
		{"408", []reply{bad(408, ""), good}, 2, time.Second, ""},
		{"409", []reply{bad(409, ""), good}, 2, time.Second, ""},
		{"429", []reply{bad(429, ""), good}, 2, time.Second, ""},
		{"529", []reply{bad(529, ""), good}, 2, time.Second, ""},
		{"429 with seconds", []reply{bad(429, "Retry-After: 20"), good}, 2, 20 * time.Second, ""},
		{"503 with a date", []reply{bad(503, date), good}, 2, 21 * time.Second, ""},
		{"429 with a minute", []reply{bad(429, "Retry-After: 60"), good}, 2, time.Minute, ""},
		{"429 with an hour", []reply{bad(429, "Retry-After: 3600"), good}, 1, 0, "host:80 has had too many requests (429): Wait; it asks to wait 1h0m0s"},
		{"429 with nonsense", []reply{bad(429, "Retry-After: soon"), good}, 2, time.Second, ""},
		{"500 three times", []reply{bad(500, "")}, 3, 3 * time.Second, "host:80 has failed (500, 3 times): Wait; try again later"},
		{"a web page three times", []reply{{status: 502, body: "<html>"}}, 3, 3 * time.Second, "host:80 has failed (502, 3 times); try again later"},
		{"cut before the first byte", []reply{cut, cut, good}, 3, 3 * time.Second, ""},
		{"always cut", []reply{cut}, 3, 3 * time.Second, "host:80 closed the connection without an answer: try again later (3 times)"},
		{"nothing", []reply{{}, good}, 2, time.Second, ""},
		{"cut after the first byte", []reply{{body: stream(delta(`{"content":"Hel"}`)), then: cut.then}, good}, 1, 0, "host:80 broke off in the middle of its answer: try again"},
		{"a failure after the first byte", []reply{{body: stream(delta(`{"content":"Hel"}`), `{"error":{"message":"Overloaded","type":"overloaded_error"}}`)}, good}, 1, 0, "host:80 has failed: Overloaded; try again later"},
		{"400", []reply{bad(400, ""), good}, 1, 0, "host:80 does not accept the request (400): Wait"},
		{"cut after the answer", []reply{{body: stream(delta(`{"content":"Hello"}`), stopped("stop")), then: cut.then}}, 1, 0, ""},
		{"a silent connection after the answer", []reply{{body: stream(delta(`{"content":"Hello"}`), stopped("stop")), then: waits}}, 1, time.Minute, ""},
		{"61 seconds of silence", []reply{{body: stream(delta(`{"content":"Hel"}`)), then: waits}}, 1, time.Minute, "host:80 has sent nothing for 60 seconds in the middle of its answer: try again"},
		{"silence after comments", []reply{{body: ": wait\n\n", then: waits}}, 1, time.Minute, "host:80 has sent nothing for 60 seconds in the middle of its answer: try again"},
		{"silence before the first byte", []reply{{then: waits}}, 1, 5 * time.Minute, "host:80 has sent nothing for 5 minutes: look whether the model is loaded, and try again"},
		{"silence in the middle of a failure", []reply{{status: 401, body: `{"error":`, then: waits}}, 1, 5 * time.Second, "host:80 asks for a key: name the variable or the file that has one (401)"},
	} {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{replies: f.replies}
				c := New(Endpoint{URL: "http://host:80/v1", Model: "m"}, within(t, s))
				begin := time.Now()
				a, err := c.Answer(t.Context(), hello, nil)
				lasted := time.Since(begin)
				switch {
				case f.says == "" && (err != nil || a.Message.Text != "Hello"):
					t.Errorf("got %+v, %v", a, err)
				case f.says != "" && (err == nil || err.Error() != f.says):
					t.Errorf("got %v, want %s", err, f.says)
				}
				if n := len(s.requests()); n != f.asked {
					t.Errorf("it was asked %d times, want %d", n, f.asked)
				}
				if lasted != f.lasts {
					t.Errorf("it took %v, want %v", lasted, f.lasts)
				}
			})
		})
	}
}

// waits keeps a connection open and sends nothing.
func waits(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// TestSlow checks that a slow answer does not count as silence.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Endpoint{URL: "http://host/v1", Model: "m"}, within(t, &script{replies: []reply{{then: func(w http.ResponseWriter, r *http.Request) {
			_ = testwait.Steps(r.Context(), 1, 4*time.Minute, func() {})
			_ = testwait.Steps(r.Context(), 20, 59*time.Second, func() {
				_, _ = io.WriteString(w, stream(delta(`{"content":"x"}`)))
				_ = http.NewResponseController(w).Flush()
			})
			_, _ = io.WriteString(w, stream("[DONE]"))
		}}}}))
		parts := 0
		a, err := c.Answer(t.Context(), hello, func(string) { parts++ })
		if err != nil || a.Message.Text != strings.Repeat("x", 20) || parts != 20 {
			t.Errorf("got %+v in %d parts, %v", a, parts, err)
		}
	})
}

// TestInterrupted checks that the error is the context's cause, and that the text so far is
// returned.
func TestInterrupted(t *testing.T) {
	why := errors.New("the user has had enough")
	for _, r := range []reply{
		{body: stream(delta(`{"content":"Hel"}`), toolCalls(function(`"id":"a"`, "skill", "{}"))), then: waits},
		{then: waits},
		{status: 500},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := New(Endpoint{URL: "http://host/v1", Model: "m"}, within(t, &script{replies: []reply{r}}))
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(500*time.Millisecond, func() { cancel(why) })
			begin := time.Now()
			a, err := c.Answer(ctx, hello, nil)
			if err != why || time.Since(begin) != 500*time.Millisecond {
				t.Errorf("got %v after %v", err, time.Since(begin))
			}
			want := Message{}
			if r.body != "" {
				want = Message{Role: Assistant, Text: "Hel", From: c.identity()}
			}
			diff(t, "the message", a.Message, want)
		})
	}
}

// TestJitter checks that the waits vary by up to a quarter.
func TestJitter(t *testing.T) {
	for jitter, want := range map[float64]time.Duration{0: 2250 * time.Millisecond, 1: 3750 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			o := within(t, &script{replies: []reply{{status: 500}}})
			o.Jitter = func() float64 { return jitter }
			begin := time.Now()
			_, err := New(Endpoint{URL: "http://host/v1", Model: "m"}, o).Answer(t.Context(), hello, nil)
			failed(t, err, Server)
			diff(t, "the waits", time.Since(begin), want)
		})
	}
}

// TestNoConnection checks the errors for endpoints that cannot be reached.
func TestNoConnection(t *testing.T) {
	refusing := listen(t, http.NotFoundHandler())
	for url, says := range map[string]string{
		"http://127.0.0.1:1":                             "; look whether it runs, and whether the URL is right",
		strings.Replace(refusing, "http:", "https:", 1):  "speaks no TLS: write http:// in its URL",
		"ftp://user:canary-password@host/v1":             "not an http or https address",
		"://canary-password":                             "not an http or https address",
		"http://ho st/canary-password":                   "not an http or https address",
		"127.0.0.1:11434/canary-password":                "not an http or https address",
		"http://127.0.0.1:1/?key=canary-password":        "127.0.0.1:1 cannot be reached",
		"http://user:canary-password@127.0.0.1:1/canary": "127.0.0.1:1 cannot be reached",
	} {
		c := New(Endpoint{URL: url, Model: "m"}, Options{})
		_, err := c.Answer(t.Context(), hello, nil)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: got %v, want %s", url, err, says)
		}
		if _, err := c.Models(t.Context()); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: got %v for the models", url, err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			// Bytes before the request would be an unsolicited answer, and the request would be tried
			// again.
			_, _ = c.Read(make([]byte, 1))
			_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n\r\n")
			c.Close()
		}
	}()
	other := "http://" + l.Addr().String()
	for proxy, says := range map[string]string{
		"":                      "does not speak HTTP",
		"http://127.0.0.1:1":    "because the proxy cannot",
		"canary-password@x:y:z": "because the proxy has no valid address",
	} {
		o := Options{Proxy: func(*http.Request) (*url.URL, error) {
			if strings.Contains(proxy, "canary") {
				return nil, fmt.Errorf("invalid proxy address %q", proxy)
			} else if proxy != "" {
				return url.Parse(proxy)
			}
			return nil, nil
		}}
		_, err := New(Endpoint{URL: other, Model: "m"}, o).Answer(t.Context(), hello, nil)
		if e := failed(t, err, Network); !strings.Contains(e.Error(), says) || strings.Contains(e.Error(), "canary") || e.Tries != 1 {
			t.Errorf("proxy %q: %v", proxy, e)
		}
	}
	if _, err := New(Endpoint{Wire: "gemini", Model: "m"}, Options{}).Answer(t.Context(), hello, nil); err == nil || !strings.Contains(err.Error(), "openai or anthropic") {
		t.Errorf("another wire: %v", err)
	}
	_, err = New(Endpoint{Key: "a\nb", KeyName: "KEY", Model: "m"}, Options{}).Answer(t.Context(), hello, nil)
	if e := failed(t, err, Auth); !strings.Contains(e.Error(), "KEY") || strings.Contains(e.Error(), "a\n") {
		t.Errorf("a key of two lines: %v", err)
	}
}

// TestRedirects checks that neither the request nor the key goes to another host.
func TestRedirects(t *testing.T) {
	other := &script{replies: []reply{{body: answered}}}
	elsewhere := listen(t, other)
	for _, f := range []struct {
		status int
		to     string
		says   string
	}{
		{307, elsewhere + "/v1/chat/completions", "redirects to " + elsewhere + ", which gets neither the request nor the key"},
		{302, elsewhere + "/secret?key=canary", "redirects to " + elsewhere + ", which gets neither"},
		{308, "https://HOST/v1", "which gets neither"},
		{307, "http://[canary", "redirects to no address"},
		{301, "/v2", "in a way that loses the request"},
		{307, "/again", "in a circle"},
		{308, "/v2", ""},
		{307, "", "redirects to no address"},
	} {
		_, err := ask(t, Endpoint{Key: "canary-key"}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2" {
				body, _ := io.ReadAll(r.Body)
				if len(body) == 0 || r.Header.Get("Authorization") == "" {
					t.Errorf("the redirect lost the request: %s", body)
				}
				_, _ = io.WriteString(w, answered)
				return
			}
			if f.to != "" {
				w.Header().Set("Location", strings.Replace(f.to, "HOST", r.Host, 1))
			}
			w.WriteHeader(f.status)
		}))
		if f.says == "" {
			if err != nil {
				t.Errorf("%d to %s: %v", f.status, f.to, err)
			}
			continue
		}
		e := failed(t, err, Network)
		if !strings.Contains(e.Error(), f.says) || strings.Contains(e.Error(), "canary") {
			t.Errorf("%d to %s: %v", f.status, f.to, e)
		}
	}
	if n := len(other.requests()); n > 0 {
		t.Errorf("another host was asked %d times", n)
	}
}

// TestDropped checks that a field that an endpoint has refused is not sent again.
func TestDropped(t *testing.T) {
	s := &script{replies: []reply{{body: answered}}}
	c := New(Endpoint{URL: listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		o := object(body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		switch {
		case o["stream_options"] != nil:
			s.replies = append([]reply{{status: 422, body: `{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`}}, s.replies...)
		case o["max_tokens"] != nil:
			s.replies = append([]reply{{status: 400, body: jsonError("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")}}, s.replies...)
		case strings.Contains(string(o["messages"]), "reasoning_content"):
			s.replies = append([]reply{{status: 400, body: jsonError("property 'reasoning_content' is unsupported, did you mean 'role'?")}}, s.replies...)
		}
		one := &script{replies: s.replies[:1]}
		if len(s.replies) > 1 {
			s.replies = s.replies[1:]
		}
		one.ServeHTTP(w, r)
		s.asked = append(s.asked, one.asked...)
	})), Model: "m"}, Options{})
	r := Request{MaxTokens: 7, Messages: []Message{{Role: User, Text: "Hello"},
		{Role: Assistant, Raw: json.RawMessage(`{"role":"assistant","content":"Hi","reasoning_content":"Hm","reasoning":"Hm"}`)}, {Role: User, Text: "Well?"}}}
	for range 2 {
		if _, err := c.Answer(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.asked) != 5 {
		t.Fatalf("it was asked %d times, want 5", len(s.asked))
	}
	const want = `{"model":"m","stream":true,"max_completion_tokens":7,"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi","reasoning":"Hm"},{"role":"user","content":"Well?"}]}`
	sameJSON(t, "the fourth body", s.asked[3].body, want)
	sameJSON(t, "the fifth body", s.asked[4].body, want)
}

// TestNotDropped checks that an endpoint that repeats its refusal is not asked a third time, and
// that fields of the user stay in the request.
func TestNotDropped(t *testing.T) {
	s := &script{replies: []reply{{status: 400, body: jsonError("stream_options is not supported")}}}
	_, err := ask(t, Endpoint{}, s)
	failed(t, err, Refused)
	if n := len(s.requests()); n != 2 {
		t.Errorf("it was asked %d times, want 2", n)
	}
	s = &script{replies: s.replies}
	_, err = ask(t, Endpoint{Extra: members{"stream_options": json.RawMessage(`{}`)}}, s)
	failed(t, err, Refused)
	if n := len(s.requests()); n != 1 {
		t.Errorf("it was asked %d times, want 1", n)
	}
}
