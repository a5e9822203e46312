package model

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// endless writes the same text until the client disconnects, and adds the number of bytes to n.
func endless(text string, n *int) func(http.ResponseWriter, *http.Request) {
	text = strings.Repeat(text, 64<<10/len(text))
	return func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			m, err := io.WriteString(w, text)
			if *n += m; err != nil || *n > 1<<30 {
				return
			}
		}
	}
}

// TestBounds checks that the client ends every endless answer.
func TestBounds(t *testing.T) {
	testwait.Slow(t)
	for _, f := range []struct {
		name, begin, text string
		status            int
		most              int // MiB that the endpoint may send
		category          Category
		says              string
	}{
		{"a line", "data: ", "x", 200, 40, Shape, "sent an event of more than 16 MiB"},
		{"a line without a field", "x", "x", 200, 40, Shape, "sent an event of more than 16 MiB"},
		{"an event", "", "data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", 200, 40, Shape, "sent an event of more than 16 MiB"},
		{"comments", "", ": hello, hello, hello, hello, hello, hello, hello, hello\n\n", 200, 300, Shape, "sent more than 256 MiB and no end"},
		{"a text", "", stream(delta(`{"content":"` + strings.Repeat("hello ", 1000) + `"}`)), 200, 40, Shape, "sent an answer of more than 16 MiB"},
		{"members", "", stream(delta(`{"a":"` + strings.Repeat("hello ", 1000) + `"}`)), 200, 40, Shape, "sent an answer of more than 16 MiB"},
		{"JSON", `{"choices":[`, "1,", 200, 40, Shape, "sent more than 16 MiB"},
		{"a failure", "", "x", 400, 20, Refused, "does not accept the request (400): xxx"},
		{"nothing but spaces", "", " ", 200, 40, Shape, "sent an event of more than 16 MiB"},
	} {
		t.Run(f.name, func(t *testing.T) {
			n := 0
			_, err := ask(t, Endpoint{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(f.status)
				_, _ = io.WriteString(w, f.begin)
				endless(f.text, &n)(w, r)
			}))
			if e := failed(t, err, f.category); !strings.Contains(e.Error(), f.says) {
				t.Errorf("got %.200v, want %s", e, f.says)
			}
			if n > f.most<<20 {
				t.Errorf("the endpoint could send %d MiB", n>>20)
			}
		})
	}
	n := 0
	c := New(Endpoint{URL: listen(t, http.HandlerFunc(endless("1,", &n)))}, Options{})
	if _, err := c.Models(t.Context()); err == nil || !strings.Contains(err.Error(), "sent more than 8 MiB") {
		t.Errorf("models: %v", err)
	}
}
