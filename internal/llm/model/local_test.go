package model

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// machine returns options for a machine on which the given handlers listen, by port.
func machine(t *testing.T, ports map[string]http.Handler) Options {
	t.Helper()
	dial := map[string]func(context.Context, string, string) (net.Conn, error){}
	for port, h := range ports {
		dial[port] = within(t, h).Transport.(*http.Transport).DialContext
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, _ := net.SplitHostPort(address)
		if dial[port] == nil || host != "127.0.0.1" {
			return nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
		}
		return dial[port](ctx, network, address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return Options{Transport: transport}
}

// says returns a handler that answers one path.
func says(path, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path || r.Header.Get("Authorization") != "" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, body)
	})
}

// TestLocal checks that servers are found by the form of their answer, within 300 milliseconds.
func TestLocal(t *testing.T) {
	silent := http.HandlerFunc(waits)
	trickles := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = testwait.Steps(r.Context(), 10, 100*time.Millisecond, func() {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
		})
	})
	away := http.RedirectHandler("http://127.0.0.1:11434/v1/models", http.StatusFound)
	const list = `{"object":"list","data":[{"id":"text-embedding-nomic"},{"id":"qwen3:8b"}]}`
	for _, f := range []struct {
		name  string
		ports map[string]http.Handler
		found []string // names and models
		lasts time.Duration
	}{
		{"nothing", nil, nil, 0},
		{"Ollama", map[string]http.Handler{"11434": says("/v1/models", list)}, []string{"Ollama", "qwen3:8b"}, 0},
		{"Ollama without models", map[string]http.Handler{"11434": says("/v1/models", `{"object":"list","data":null}`)}, []string{"Ollama"}, 0},
		{"only embeddings", map[string]http.Handler{"1234": says("/v1/models", `{"object":"list","data":[{"id":"Embed-1"}]}`)}, []string{"LM Studio"}, 0},
		{"all", map[string]http.Handler{"12434": says("/engines/v1/models", list), "8080": says("/v1/models", list), "11434": says("/v1/models", list), "1234": says("/v1/models", list)},
			[]string{"Ollama", "qwen3:8b", "LM Studio", "qwen3:8b", "llama.cpp", "qwen3:8b", "Docker Model Runner", "qwen3:8b"}, 0},
		{"something else on 8080", map[string]http.Handler{"8080": says("/v1/models", "<html>")}, nil, 0},
		{"another list on 8080", map[string]http.Handler{"8080": says("/v1/models", `{"data":[{"id":"a"}]}`)}, nil, 0},
		{"a list of cars on 8080", map[string]http.Handler{"8080": says("/v1/models", `{"object":"list","data":[{"car":"a"}]}`)}, nil, 0},
		{"a redirect", map[string]http.Handler{"8080": away, "1234": says("/v1/models", list)}, []string{"LM Studio", "qwen3:8b"}, 0},
		{"silence beside one that answers", map[string]http.Handler{"8080": silent, "1234": trickles, "12434": says("/engines/v1/models", list)}, []string{"Docker Model Runner", "qwen3:8b"}, 300 * time.Millisecond},
	} {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := machine(t, f.ports)
				begin := time.Now()
				var found []string
				for _, s := range Local(t.Context(), o) {
					if s.Advice == "" || s.URL == "" {
						t.Errorf("there is no advice or address for %s", s.Name)
					}
					found = append(append(found, s.Name), s.Models...)
				}
				diff(t, "found", found, f.found)
				diff(t, "time", time.Since(begin), f.lasts)
			})
		})
	}
}
