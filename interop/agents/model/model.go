// Package model is a model server that follows a script. It answers in the formats of four vendors,
// and streams each format as its vendor does. It records every request, so that a test sees exactly
// what a model would see.
package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// Reply is the model's next message: a text, or one call of a tool.
type Reply struct {
	Text string
	Call *Call
}

// Call is one call of a tool.
type Call struct {
	ID        string // chosen by the server
	Name      string
	Namespace string // the tool's namespace; only in Responses
	Kind      Kind
	Args      map[string]any // for a tool that takes JSON
	Input     string         // for a tool that takes text
}

// Kind is the kind of item that represents a call in Responses. The other formats have only one
// kind.
type Kind string

// The kinds of calls.
const (
	Function   Kind = ""
	Custom     Kind = "custom_tool_call"
	ToolSearch Kind = "tool_search_call"
)

// Server answers each request that offers tools with the reply of Next. A request without tools is
// an errand of the client's own, such as asking for a title, and gets a fixed text.
type Server struct {
	// Next chooses the reply. Its calls never overlap.
	Next func(Request) Reply

	mu       sync.Mutex
	requests []Request
	errands  []string
	turns    int
	listener net.Listener
	http     http.Server
}

// Start listens on a free port of the loopback address.
func (s *Server) Start() error {
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.http.Handler = s
	go func() { _ = s.http.Serve(s.listener) }()
	return nil
}

// Close ends the server and its connections.
func (s *Server) Close() { _ = s.http.Close() }

// URL returns the server's address, without a trailing slash.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Requests returns the requests that offered tools, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Errands returns the client's other requests, one line each. A line "CONNECT host" stands for a
// host that the client tried to reach through the proxy.
func (s *Server) Errands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.errands...)
}

// ServeHTTP answers a request according to the end of its path, so that a client may add any
// prefix. As a proxy it refuses every host.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if r.Method == http.MethodConnect || r.URL.Host != "" {
		s.errand(r.Method + " " + r.Host)
		http.Error(w, "this proxy reaches no host", http.StatusForbidden)
		return
	}
	api, ok := apiOf(r.URL.Path)
	if r.Method != http.MethodPost || !ok {
		s.errand(r.Method + " " + r.URL.RequestURI())
		other(w, r)
		return
	}
	req, err := parse(api, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req.Header = r.Header
	stream := req.stream || strings.HasSuffix(r.URL.Path, ":streamGenerateContent")
	reply, turn := s.reply(req, r.URL.Path)
	writers[api](&answer{w: w, stream: stream, model: req.Model, turn: turn}, reply)
}

func (s *Server) errand(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errands = append(s.errands, line)
}

// reply records a request and returns the script's reply. It also numbers the turns, since clients
// merge answers that have the same id.
func (s *Server) reply(req Request, path string) (out Reply, turn int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns++
	if len(req.Tools) == 0 {
		s.errands = append(s.errands, "POST "+path+" without tools")
		return Reply{Text: "A title"}, s.turns
	}
	s.requests = append(s.requests, req)
	out = s.Next(req)
	if out.Call != nil {
		out.Call.ID = fmt.Sprintf("call_%04d", s.turns)
	}
	return out, s.turns
}

// apiOf returns the format for a path.
func apiOf(path string) (API, bool) {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return Chat, true
	case strings.HasSuffix(path, "/responses"):
		return Responses, true
	case strings.HasSuffix(path, "/messages"):
		return Messages, true
	case strings.HasSuffix(path, ":streamGenerateContent"), strings.HasSuffix(path, ":generateContent"):
		return Generate, true
	}
	return "", false
}

// other answers requests that are not for a turn of the model.
func other(w http.ResponseWriter, r *http.Request) {
	var out any
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages/count_tokens"):
		out = map[string]any{"input_tokens": 1000}
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		out = map[string]any{"totalTokens": 1000}
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models"):
		out = map[string]any{"object": "list", "data": []any{}}
	default:
		http.Error(w, `{"error":{"type":"not_found_error","message":"this model server has no such path"}}`, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out)
}
