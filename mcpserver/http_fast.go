package mcpserver

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
)

// toldApart are the headers on which an answer depends. A request that has one of
// them twice, or another one of the protocol's, goes to the SDK.
var toldApart = [...]string{"Accept", "Content-Type", "Last-Event-Id", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id"}

// quick answers a request that was answered before, or begins to learn its answer;
// neither where the request is none that can be kept.
func (h *HTTP) quick(w http.ResponseWriter, r *http.Request, body []byte) (l *learning, done bool) {
	id, ok := callID(body)
	if !ok {
		return nil, false
	}
	v, ok := h.server.viewNow(subjectOfHTTP(r))
	if !ok {
		return nil, false
	}
	key, ok := h.asked(r, body, id)
	if !ok {
		return nil, false
	}
	kept := h.server.memory.recall(v, key)
	if kept == nil {
		return h.server.memory.learn(v, key), false
	}
	header := w.Header()
	for name, values := range kept.header {
		header[name] = values
	}
	stream := header.Get("Content-Type") == eventStream
	size := len(answerHead) + id.to - id.from + len(kept.tail)
	if stream {
		size += len(eventHead) + len(eventEnd)
	}
	answer := make([]byte, 0, size)
	if stream {
		answer = append(answer, eventHead...)
	}
	answer = append(append(append(answer, answerHead...), body[id.from:id.to]...), kept.tail...)
	if stream {
		answer = append(answer, eventEnd...)
	}
	header["Content-Length"] = []string{strconv.Itoa(size)}
	a := newAnswer(w, h.o.WriteTimeout, sent{})
	a.ResponseWriter.WriteHeader(http.StatusOK)
	_, _ = a.paced.Write(answer)
	h.server.again(kept)
	return nil, true
}

// An answer in a session is the one event of its stream. It has no id by which the
// stream could be resumed: it is there whole, or not at all.
const (
	eventStream = "text/event-stream"
	eventHead   = "event: message\ndata: "
	eventEnd    = "\n\n"
)

// asked is everything by which a request could be told apart from another, but
// for its id. A header holds no NUL, and neither does JSON.
func (h *HTTP) asked(r *http.Request, body []byte, id span) ([]byte, bool) {
	key := make([]byte, 0, len(body)+512)
	key = append(key, "http\x00"...)
	if info := auth.TokenInfoFromContext(r.Context()); info != nil {
		key = append(key, info.UserID...)
	}
	known := 0
	for _, name := range toldApart {
		key = append(key, 0)
		switch values := r.Header[name]; len(values) {
		case 0:
		case 1:
			key = append(append(key, 1), values[0]...)
			if strings.HasPrefix(name, "Mcp-") {
				known++
			}
		default:
			return nil, false
		}
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "Mcp-") {
			known--
		}
	}
	if session := r.Header.Get("Mcp-Session-Id"); known != 0 || session != "" && h.handshakes.begun(session) {
		return nil, false
	}
	key = append(append(key, 0), body[:id.from]...)
	return append(append(key, 0), body[id.to:]...), true
}

// begun reports whether a session's handshake is under way: its end depends on
// what comes, so that everything must be heard of.
func (h *handshakes) begun(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[id] != nil
}

// overheard is a writer that keeps what is written, to be learned from.
type overheard struct {
	http.ResponseWriter
	before map[string]bool // headers that were not the SDK's
	header http.Header
	status int
	body   []byte
}

func overhear(w http.ResponseWriter) *overheard {
	o := &overheard{ResponseWriter: w, before: map[string]bool{"Content-Length": true, "Date": true, "Connection": true}}
	for name := range w.Header() {
		o.before[name] = true
	}
	return o
}

// Unwrap lets [http.ResponseController] reach the connection.
func (o *overheard) Unwrap() http.ResponseWriter { return o.ResponseWriter }

func (o *overheard) WriteHeader(status int) {
	o.begin(status)
	o.ResponseWriter.WriteHeader(status)
}

func (o *overheard) begin(status int) {
	if o.status != 0 {
		return
	}
	o.status, o.header = status, http.Header{}
	for name, values := range o.Header() {
		if !o.before[name] {
			o.header[name] = slices.Clone(values)
		}
	}
}

func (o *overheard) Write(data []byte) (int, error) {
	o.begin(http.StatusOK)
	if len(o.body) <= rememberedOne {
		o.body = append(o.body, data...)
	}
	return o.ResponseWriter.Write(data)
}

// teach keeps the answer that was overheard, where it is whole and one.
func (h *HTTP) teach(l *learning, o *overheard, r *http.Request, id []byte) {
	now, ok := h.server.viewNow(subjectOfHTTP(r))
	if !ok || o.status != http.StatusOK || r.Context().Err() != nil || len(o.body) > rememberedOne {
		return
	}
	kept := &remembered{header: o.header}
	answer := o.body
	if o.header.Get("Content-Type") == eventStream {
		if answer, ok = oneEvent(o.body); !ok {
			return
		}
	}
	if kept.tail = tailOf(answer, id); kept.tail == nil {
		return
	}
	if r.Header.Get("Mcp-Session-Id") != "" {
		kept.until = time.Now().Add(min(relearn, h.o.SessionTimeout/2))
	}
	l.keep(now, kept)
}

// oneEvent is the data of the only message in a stream of events.
func oneEvent(stream []byte) (data []byte, ok bool) {
	for event := range bytes.SplitSeq(stream, []byte("\n\n")) {
		var lines [][]byte
		message := false
		for line := range bytes.SplitSeq(event, []byte("\n")) {
			message = message || string(line) == "event: message"
			if d, is := bytes.CutPrefix(line, []byte("data: ")); is && len(d) > 0 {
				lines = append(lines, d)
			}
		}
		switch {
		case len(lines) == 0:
		case !message || len(lines) > 1 || data != nil:
			return nil, false
		default:
			data = lines[0]
		}
	}
	return data, data != nil
}

// viewNow is what a call of a subject's would read now; false where nothing was
// read yet. It takes the sight as the middleware see does.
func (s *Server) viewNow(subject access.Subject) (v catalog.View, ok bool) {
	var sight *catalog.Sight
	if p := s.audience.policy.Load(); p != nil {
		sight = p.Sight(subject)
	}
	return s.catalog.Now(sight)
}

// subjectOfHTTP is who sends a request.
func subjectOfHTTP(r *http.Request) (subject access.Subject) {
	if info := auth.TokenInfoFromContext(r.Context()); info != nil {
		subject, _ = info.Extra[subjectKey].(access.Subject)
	}
	return subject
}
