// Package model is a model server that follows a script. It answers in the forms of four
// vendors, streamed as each of them streams, and keeps every request, so that a test sees
// exactly what a model would see.
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
	Namespace string // of the tool, only in Responses
	Kind      Kind
	Args      map[string]any // of a tool that takes JSON
	Input     string         // of a tool that takes text
}

// Kind says which kind of item a call is in Responses. The other forms have one.
type Kind string

// The kinds of calls.
const (
	Function   Kind = ""
	Custom     Kind = "custom_tool_call"
	ToolSearch Kind = "tool_search_call"
)

// Server answers each request that offers tools with the reply of Next. A request without
// tools is a client's own errand, a title for example, and gets a fixed text.
type Server struct {
	// Next chooses the reply. Calls of it never overlap.
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

// URL is the server's address, without a slash at its end.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Requests returns the requests with tools, in their order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Errands returns the client's other requests: a line for each request, and one "CONNECT
// host" for each host that it wanted to reach through the proxy.
func (s *Server) Errands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.errands...)
}

// ServeHTTP answers a model's request by the end of its path, so that a client may
// put any prefix before it. As a proxy it refuses every host.
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

// reply keeps a request and asks the script. It also numbers the turn, since clients
// put answers with one id together.
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

// apiOf tells the form by the path.
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

// other answers the requests of clients beside a model's turn.
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
