package mcpserver

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
)

// toldApart are the headers on which an answer depends. A request that has one of
// them twice, or another one of the protocol's, goes to the SDK.
var toldApart = [...]string{"Accept", "Content-Type", "Last-Event-Id", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id"}

// kit is what one request after the other is worked on with, so that an answer
// that is given again takes nothing of the heap.
type kit struct{ body, key, answer []byte }

var kits = sync.Pool{New: func() any { return &kit{} }}

// keptAnswer is the largest buffer that a kit keeps.
const keptAnswer = 64 << 10

// quick answers a request that was answered before, or begins to learn its answer;
// neither where the request is none that can be kept.
func (h *HTTP) quick(w http.ResponseWriter, r *http.Request, body []byte, kit *kit) (l *learning, done bool) {
	id, ok := callID(body)
	if !ok {
		return nil, false
	}
	subject := h.subject(r)
	v, ok := h.server.viewNow(subject)
	if !ok || !h.asked(r, subject, body, id, kit) {
		return nil, false
	}
	kept := h.server.memory.recall(v, kit.key, nil)
	if kept == nil {
		return h.server.memory.learn(v, kit.key), false
	}
	header := w.Header()
	for i := range kept.header {
		header[kept.header[i].name] = kept.header[i].values
	}
	size := len(answerHead) + id.to - id.from + len(kept.tail)
	if kept.stream {
		size += len(eventHead) + len(eventEnd)
	}
	header["Content-Length"] = kept.length(size)
	answer := slices.Grow(kit.answer[:0], size)
	if kept.stream {
		answer = append(answer, eventHead...)
	}
	answer = append(append(append(answer, answerHead...), body[id.from:id.to]...), kept.tail...)
	if kept.stream {
		answer = append(answer, eventEnd...)
	}
	if cap(answer) <= keptAnswer {
		kit.answer = answer
	}
	gather(r, size)
	rc := http.NewResponseController(w)
	for len(answer) > 0 { // as paced
		_ = rc.SetWriteDeadline(time.Now().Add(h.o.WriteTimeout))
		n, err := w.Write(answer[:min(writeChunk, len(answer))])
		if err != nil {
			break
		}
		answer = answer[n:]
	}
	kept.count.Add(1)
	h.server.again(kept, subject, hostOf(r))
	return nil, true
}

// length is the header for a size. Nearly all ids of a client are of one length,
// so that the last one is kept.
func (r *remembered) length(size int) []string {
	if last := r.last.Load(); last != nil && last.size == size {
		return last.header
	}
	now := &lengthHeader{size, []string{strconv.Itoa(size)}}
	r.last.Store(now)
	return now.header
}

type lengthHeader struct {
	size   int
	header []string
}

// subject is who sends a request; nobody has a name where no tokens are asked for.
func (h *HTTP) subject(r *http.Request) access.Subject {
	if h.o.Verifier == nil {
		return access.Subject{}
	}
	return holderIn(auth.TokenInfoFromContext(r.Context())).subject
}

// An answer in a session is the one event of its stream. It has no id by which the
// stream could be resumed: it is there whole, or not at all.
const (
	eventStream = "text/event-stream"
	eventHead   = "event: message\ndata: "
	eventEnd    = "\n\n"
)

// asked makes the key: everything by which a request could be told apart from
// another, but for its id. A header holds no NUL, and neither does JSON.
func (h *HTTP) asked(r *http.Request, subject access.Subject, body []byte, id span, kit *kit) bool {
	key := append(kit.key[:0], "http\x00"...)
	if h.o.Verifier != nil {
		if info := auth.TokenInfoFromContext(r.Context()); info != nil {
			key = append(key, info.UserID...)
		}
		// Who holds the token may change with the configuration, and is told of.
		key = append(append(key, 0), subject.Name...)
		for _, group := range subject.Groups {
			key = append(append(key, 1), group...)
		}
	}
	known, session := 0, ""
	for _, name := range toldApart {
		key = append(key, 0)
		switch values := r.Header[name]; len(values) {
		case 0:
		case 1:
			key = append(append(key, 1), values[0]...)
			if strings.HasPrefix(name, "Mcp-") {
				known++
			}
			if name == "Mcp-Session-Id" {
				session = values[0]
			}
		default:
			return false
		}
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "Mcp-") {
			known--
		}
	}
	if known != 0 || session != "" && h.handshakes.begun(session) {
		return false
	}
	key = append(append(key, 0), body[:id.from]...)
	kit.key = append(append(key, 0), body[id.to:]...)
	return true
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
func (h *HTTP) teach(l *learning, o *overheard, r *http.Request, s sent) {
	now, ok := h.server.viewNow(h.subject(r))
	if !ok || o.status != http.StatusOK || r.Context().Err() != nil || len(o.body) > rememberedOne {
		return
	}
	kept := &remembered{stream: o.header.Get("Content-Type") == eventStream}
	for name, values := range o.header {
		kept.header = append(kept.header, keptHeader{name, values})
	}
	answer := o.body
	if kept.stream {
		if answer, ok = oneEvent(o.body); !ok {
			return
		}
	}
	if kept.tail = tailOf(answer, s.id); kept.tail == nil {
		return
	}
	kept.count = h.counts.counterOfAnswer(s.method, answer)
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
