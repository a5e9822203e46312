package httpguard

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/internal/server/event"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tokens is a verifier that knows one token and counts its calls.
type tokens struct{ asked int }

func (v *tokens) Verify(_ context.Context, token string) (access.Subject, bool) {
	v.asked++
	return access.Subject{Name: "ann"}, token == "known"
}

// body is a request's body that records whether it was read.
type body struct {
	strings.Reader
	read bool
}

func (b *body) Read(p []byte) (int, error) { b.read = true; return b.Reader.Read(p) }

// latest is a sink that stores the last event.
type latest struct{ event.Event }

func (l *latest) Record(e *event.Event) { l.Event = *e }

// TestOrderOfChecks checks that a request is refused by the first check that it fails: host,
// origin, token, rate, body. No later check is made. So a foreign page learns nothing about tokens,
// and an unknown client uses up no rate and sends no body.
func TestOrderOfChecks(t *testing.T) {
	v, handled, last := &tokens{}, 0, latest{}
	g, err := New(Options{
		BodyTimeout: time.Minute, WriteTimeout: time.Minute, MaxCalls: 1, Limit: limit.Rate{PerSecond: 1e-6, Burst: 2}, Log: slog.New(slog.DiscardHandler),
	}, Server{
		Memory:   limit.NewBudget(1<<20, 0),
		Access:   access.NewGate(access.State{Verifier: v}),
		Events:   event.Sinks{&last},
		NotReady: func() string { return "" },
		Refuse:   func(w http.ResponseWriter, status int, message string) { http.Error(w, message, status) },
	})
	must(t, err)
	g.Handle("/mcp", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, free, ok := g.Body(w, r, 4); ok {
			handled++
			free()
		}
	}))
	for _, row := range []struct {
		host, origin, token, body string
		status                    int
		asked                     bool // for the token
		read                      bool // the body
		why                       event.Refusal
	}{
		{"evil.example", "https://evil.example", "unknown", "long body", 403, false, false, event.OtherHost},
		{"localhost", "https://evil.example", "unknown", "long body", 403, false, false, event.OtherOrigin},
		{"localhost", "", "", "long body", 401, true, false, event.NoToken},
		{"localhost", "", "unknown", "long body", 401, true, false, event.UnknownToken},
		{"localhost", "", "known", "long body", 413, true, false, ""},
		{"localhost", "", "known", "body", 200, true, true, ""},
		{"localhost", "", "known", "body", 429, true, false, event.OverRate},
		{"localhost", "", "unknown", "body", 401, true, false, event.UnknownToken},
		{"localhost", "https://evil.example", "known", "body", 403, false, false, event.OtherOrigin},
	} {
		what := fmt.Sprintf("%+v", row)
		v.asked, last = 0, latest{}
		sent := &body{Reader: *strings.NewReader(row.body)}
		r := httptest.NewRequest("POST", "http://localhost/mcp", sent)
		r.Host, r.ContentLength = row.host, int64(len(row.body))
		if row.origin != "" {
			r.Header.Set("Origin", row.origin)
		}
		if row.token != "" {
			r.Header.Set("Authorization", "Bearer "+row.token)
		}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code != row.status || v.asked > 0 != row.asked || sent.read != row.read {
			t.Errorf("%s: %d, the token asked for %d times, the body read: %v", what, w.Code, v.asked, sent.read)
		}
		if last.Refusal != row.why {
			t.Errorf("%s: refused for %q", what, last.Refusal)
		}
	}
	if handled != 1 {
		t.Errorf("%d requests were handled, want one", handled)
	}
}

// forms is a handler of pages whose forms arrive only when they are released.
type forms struct {
	SignIn
	arriving chan string // the sender's address
	released chan struct{}
}

func (forms) Opens(*http.Request) bool           { return true }
func (forms) Known(*http.Request) (string, bool) { return "", false }
func (forms) Refuse(w http.ResponseWriter, _ *http.Request, status int, _ string) {
	w.WriteHeader(status)
}

func (f forms) Open(_ http.ResponseWriter, r *http.Request) (who access.Subject, known bool) {
	if r.Method == http.MethodPost {
		f.arriving <- r.RemoteAddr
		<-f.released
	}
	return who, false
}

// TestShareOfSignIns checks that the forms of one network leave room for the forms of others. The
// sign-in page and the files of pages must need no place.
func TestShareOfSignIns(t *testing.T) {
	pages := forms{arriving: make(chan string), released: make(chan struct{})}
	g, err := New(Options{
		BodyTimeout: time.Minute, WriteTimeout: time.Minute, MaxCalls: maxForms, Pages: pages, Log: slog.New(slog.DiscardHandler),
	}, Server{
		Memory:   limit.NewBudget(1<<20, 0),
		Access:   access.NewGate(access.State{Verifier: &tokens{}}),
		NotReady: func() string { return "" },
	})
	must(t, err)
	ask := func(method, path, from string) int {
		r := httptest.NewRequest(method, "http://localhost"+path, nil)
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w.Code
	}
	const flood, other = "[2001:db8::%x]:1", "192.0.2.1:1"
	codes := make(chan int)
	arrived, refused := 0, 0
	for i := range maxForms {
		go func() { codes <- ask("POST", "/signin", fmt.Sprintf(flood, i)) }()
		select {
		case <-pages.arriving:
			arrived++
		case code := <-codes:
			if refused++; code != http.StatusTooManyRequests {
				t.Errorf("a form without a place: %d", code)
			}
		}
	}
	if want := maxForms - maxForms/4; arrived != want || refused != maxForms-want {
		t.Errorf("%d forms of one network arrive at once, and %d are refused; want %d of %d", arrived, refused, want, maxForms)
	}
	for _, from := range []string{fmt.Sprintf(flood, 1), other} {
		for _, path := range []string{"/signin", "/assets/site.css"} {
			if code := ask("GET", path, from); code != http.StatusOK {
				t.Errorf("%s from %s: %d", path, from, code)
			}
		}
	}
	go func() { codes <- ask("POST", "/signin", other) }()
	select {
	case from := <-pages.arriving:
		if arrived++; from != other {
			t.Errorf("the form is from %s", from)
		}
	case code := <-codes:
		t.Errorf("a form of another network: %d", code)
	}
	close(pages.released)
	for range arrived {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("a form that arrives: %d", code)
		}
	}
	if n := g.signingIn.Held(); n != 0 {
		t.Errorf("%d places are held afterwards", n)
	}
}

// bodies returns a guard whose requests share the given memory. send sends a body from a client at
// an address, with the given Content-Length.
func bodies(t *testing.T, memory *limit.Budget) (g *Guard, send func(address, text string, length int64) (used int64, status int)) {
	g, err := New(Options{
		BodyTimeout: time.Minute, WriteTimeout: time.Minute, MaxCalls: 1, Log: slog.New(slog.DiscardHandler),
	}, Server{
		Memory:   memory,
		Access:   access.NewGate(access.State{}),
		NotReady: func() string { return "" },
		Refuse:   func(w http.ResponseWriter, status int, message string) { http.Error(w, message, status) },
	})
	must(t, err)
	var now int64
	g.Handle("/mcp", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, free, _ := g.Body(w, r, mostBody)
		defer free()
		now = memory.Held()
	}))
	return g, func(address, text string, length int64) (int64, int) {
		r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(text))
		r.RemoteAddr, r.ContentLength = address+":1", length
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return now, w.Code
	}
}

const (
	mostBody = 64 << 10
	local    = "127.0.0.1"
)

// TestBodiesGiveBack checks that the memory of a large body is reserved before it is read and freed
// afterwards. A body of unknown length counts as the largest. The bound on large bodies delays no
// small one.
func TestBodiesGiveBack(t *testing.T) {
	memory := limit.NewBudget(bodyCopies*mostBody, 0)
	g, sendAs := bodies(t, memory)
	send := func(length int64) (used int64, status int) {
		return sendAs(local, strings.Repeat("x", smallBody), length)
	}
	for length, want := range map[int64]int64{smallBody: 0, smallBody + 1: bodyCopies * (smallBody + 1), -1: bodyCopies * mostBody} {
		if used, status := send(length); used != want || status != 200 || memory.Held() != 0 {
			t.Errorf("length %d: %d held, want %d; %d afterwards; %d", length, used, want, memory.Held(), status)
		}
	}
	if g.large.Held() != 0 || g.small.Held() != 0 {
		t.Errorf("%d large bodies and %d small ones still arrive", g.large.Held(), g.small.Held())
	}
	all := g.large.Open("")
	all.Try(maxLarge)
	if _, status := send(-1); status != http.StatusTooManyRequests || memory.Held() != 0 {
		t.Errorf("while as many arrive as may: %d, %d held", status, memory.Held())
	}
	if _, status := send(smallBody); status != http.StatusOK {
		t.Errorf("a small one beside them: %d", status)
	}
	all.Close()
	taken := memory.Open("")
	taken.Try(1)
	if _, status := send(-1); status != http.StatusTooManyRequests {
		t.Errorf("without room: %d", status)
	}
	taken.Close()
}

// TestShareOfBodies checks that a client whose bodies do not arrive leaves places for the bodies of
// others.
func TestShareOfBodies(t *testing.T) {
	g, send := bodies(t, limit.NewBudget(64<<20, 0))
	for size, budget := range map[int]*limit.Budget{smallBody: g.small, smallBody + 1: g.large} {
		var accounts []*limit.Account
		for one := budget.Open("address 192.0.2.1"); one.Try(1); one = budget.Open("address 192.0.2.1") {
			accounts = append(accounts, one)
		}
		n := len(accounts)
		text := strings.Repeat("x", size)
		if _, status := send("192.0.2.1", text, int64(size)); status != http.StatusTooManyRequests {
			t.Errorf("%d bytes: one more after %d: %d", size, n, status)
		}
		if _, status := send("192.0.2.2", text, int64(size)); status != http.StatusOK {
			t.Errorf("%d bytes: another client beside %d: %d", size, n, status)
		}
		for _, one := range accounts {
			one.Close()
		}
	}
}

// TestValuesTakeRoom checks that the JSON values of a body count as memory, unless they are few or
// too many to be decoded.
func TestValuesTakeRoom(t *testing.T) {
	memory := limit.NewBudget(1<<20, 0)
	_, send := bodies(t, memory)
	for n, want := range map[int]int64{fewValues: 0, fewValues + 1: (fewValues + 1) * valueBytes, 1000: 1000 * valueBytes, rawjson.MaxValues + 1: 0} {
		text := "[" + strings.Repeat("0,", n-1) + "0]"
		if len(text) > smallBody {
			want += bodyCopies * int64(len(text))
		}
		if used, status := send(local, text, int64(len(text))); used != want || status != http.StatusOK || memory.Held() != 0 {
			t.Errorf("%d values: %d held, want %d; %d afterwards; %d", n, used, want, memory.Held(), status)
		}
	}
	taken := memory.Open("")
	taken.Try(1<<20 - 100*valueBytes)
	for n, want := range map[int]int{100: http.StatusOK, 101: http.StatusTooManyRequests} {
		text := "[" + strings.Repeat("0,", n-1) + "0]"
		if _, status := send(local, text, int64(len(text))); status != want {
			t.Errorf("%d values with room for 100: %d", n, status)
		}
	}
}

// TestPanicIsLogged checks that the log has the place of a panic. Of the request it has only the
// method and the path.
func TestPanicIsLogged(t *testing.T) {
	g := named(t, "")
	var log bytes.Buffer
	g.o.Log = slog.New(slog.NewTextHandler(&log, nil))
	g.mount("/broken", faulty)
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("the server gets %v", p)
			}
		}()
		g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://localhost/broken?CANARY", nil))
	}()
	for text, want := range map[string]bool{"method=GET path=/broken panic=nothing": true, "httpguard.faulty(": true, "CANARY": false} {
		if strings.Contains(log.String(), text) != want {
			t.Errorf("the log has %q: %v, want %v:\n%s", text, !want, want, &log)
		}
	}
}

//go:noinline
func faulty(http.ResponseWriter, *http.Request) { panic("nothing") }
