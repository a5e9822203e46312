package mcpserver

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
)

// The SDK takes ten times as long over a call as the work in it. So the answers to
// the calls that read, and nothing else, are kept as the bytes that the SDK wrote,
// and given again to the same request: nothing is worked out twice, and nothing is
// worked out here. A request is the same where every byte of it is, but for its id,
// and everything else by which it could be told apart: who asks, in which session,
// with which headers. What it read must still be there: the catalogue's snapshot is
// the same, and each file that was read has the stamp that it had, which is looked
// at each time.

const (
	// rememberedBytes bounds what is kept, and rememberedOne an answer.
	rememberedBytes = 8 << 20
	rememberedOne   = 1 << 20
	// perAnswer is what an answer holds that nobody counts, more or less.
	perAnswer = 512
	// mostReads bounds what is looked at before an answer is given again.
	mostReads = 1024
	// relearn is how long an answer in a session is kept: the SDK must hear of the
	// session before it takes it for one that nobody uses.
	relearn = 30 * time.Second
)

// learnable are the methods whose answers are kept.
var learnable = map[string]bool{"tools/call": true, "resources/read": true, "skills/get": true}

// learnHeader tells the middleware which learning a call belongs to. It goes no
// further than this process.
const learnHeader = "Knack-Learn"

// memory keeps answers. Its zero value is ready.
type memory struct {
	mu      sync.Mutex
	version uint64 // of the snapshot that all answers were made of
	answers map[asked]*remembered
	order   []asked // oldest first
	bytes   int

	recalled atomic.Uint64 // answers that were given again
	last     uint64
	learning map[string]*learning
}

// asked is a request and what it is answered from. Two views are equal where they
// are of one snapshot through one sight: who may see what is part of it.
type asked struct {
	view    catalog.View
	request string
}

// remembered is an answer without its beginning, `{"jsonrpc":"2.0","id":…`.
type remembered struct {
	tail   []byte
	header []keptHeader // over HTTP
	stream bool         // the answer is an event
	last   atomic.Pointer[lengthHeader]
	basis  *catalog.Basis
	use    *Use           // what is to be observed each time; nil: nothing
	count  *atomic.Uint64 // of its method and outcome, over HTTP
	until  time.Time      // zero: as long as it is true
	size   int            // about how many bytes are held for it
}

// keptHeader is a header of an answer. Nobody changes its values.
type keptHeader struct {
	name   string
	values []string
}

// learning is a call whose answer may be kept.
type learning struct {
	in    *memory
	key   string
	asked asked
	reads *catalog.Reads // noted by the middleware, as is the use
	use   *Use
}

type usedKey struct{}

// used notes what was observed of a call, where its answer is learned.
func used(ctx context.Context, u Use) {
	if into, ok := ctx.Value(usedKey{}).(*Use); ok {
		*into = u
	}
}

// recall finds the answer to a request; nil where it must be asked for. What looks
// may share is in shared, see [catalog.Basis.Holds].
func (m *memory) recall(v catalog.View, request []byte, shared *io.Closer) *remembered {
	m.mu.Lock()
	if m.version != v.Version {
		m.forget(v.Version)
	}
	r := m.answers[asked{v, string(request)}]
	m.mu.Unlock()
	if r == nil || !r.until.IsZero() && time.Now().After(r.until) || !r.basis.Holds(shared) {
		return nil
	}
	m.recalled.Add(1)
	return r
}

// again tells of an answer that was given again, to a subject at an address.
func (s *Server) again(r *remembered, to access.Subject, address string) {
	if r.use != nil && s.observe != nil {
		u := *r.use
		u.Subject, u.Event.Subject, u.Event.Address = to, to.Name, address
		s.observe(u)
	}
}

// forget drops everything, for answers of another snapshot. The caller holds mu.
func (m *memory) forget(version uint64) {
	m.version, m.answers, m.order, m.bytes = version, map[asked]*remembered{}, nil, 0
}

// clear drops everything.
func (m *memory) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(m.version)
}

// learn begins to learn the answer to a request. The caller ends it.
func (m *memory) learn(v catalog.View, request []byte) *learning {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.learning == nil {
		m.learning = map[string]*learning{}
	}
	m.last++
	l := &learning{in: m, key: strconv.FormatUint(m.last, 10), asked: asked{v, string(request)}}
	m.learning[l.key] = l
	return l
}

// end ends the learning, whatever came of it.
func (l *learning) end() {
	l.in.mu.Lock()
	defer l.in.mu.Unlock()
	delete(l.in.learning, l.key)
}

// keep keeps an answer that was made of the view and of what was noted.
func (l *learning) keep(now catalog.View, r *remembered) {
	m := l.in
	m.mu.Lock()
	reads := l.reads
	m.mu.Unlock()
	if reads == nil || now != l.asked.view || len(r.tail) > rememberedOne {
		return
	}
	if r.basis = reads.Basis(mostReads); r.basis == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.version != now.Version || m.answers == nil {
		return
	}
	r.use = l.use
	r.size = len(r.tail) + 2*len(l.asked.request) + r.basis.Size() + perAnswer
	if old := m.answers[l.asked]; old != nil {
		m.bytes -= old.size
	} else {
		m.order = append(m.order, l.asked)
	}
	m.answers[l.asked] = r
	m.bytes += r.size
	for m.bytes > rememberedBytes {
		oldest := m.order[0]
		m.bytes -= m.answers[oldest].size
		delete(m.answers, oldest)
		m.order = m.order[1:]
	}
}

// record is the middleware that has the reads of a call noted, where its answer is
// to be learned.
func (m *memory) record(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		extra := req.GetExtra()
		if extra == nil {
			return next(ctx, method, req)
		}
		key := extra.Header.Get(learnHeader)
		if key == "" {
			return next(ctx, method, req)
		}
		ctx, reads := catalog.Record(ctx)
		use := &Use{}
		ctx = context.WithValue(ctx, usedKey{}, use)
		res, err := next(ctx, method, req)
		if err != nil {
			return res, err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if l := m.learning[key]; l != nil {
			l.reads = reads
			if use.Method != "" {
				l.use = use
			}
		}
		return res, err
	}
}

// Where the id of a call lies in it.
type span struct{ from, to int }

// callID finds the id of a call of a learnable method, and reports false for
// whatever it is not sure of. It does not check what it reads: what it finds is
// used to compare requests that differ in nothing but the id, of which one was
// understood and answered by the SDK (so that its id lies where it was found), and
// the other has in the same place another id that is as plain.
func callID(message []byte) (id span, ok bool) {
	s := scanner{in: message}
	if !s.skip('{') {
		return id, false
	}
	var method span
	for first := true; ; first = false {
		if !first && s.skip('}') {
			break
		}
		if !first && !s.skip(',') {
			return id, false
		}
		key, ok := s.text()
		if !ok || !s.skip(':') {
			return id, false
		}
		s.blanks()
		from := s.at
		if !s.value() {
			return id, false
		}
		switch string(message[key.from:key.to]) {
		case "jsonrpc", "params":
		case "id":
			if id.to != 0 {
				return id, false
			}
			id = span{from, s.at}
		case "method":
			if method.to != 0 {
				return id, false
			}
			method = span{from, s.at}
		default:
			return id, false
		}
	}
	s.blanks()
	return id, s.at == len(message) && plainID(message[id.from:id.to]) && method.to-method.from > 2 && learnable[string(message[method.from+1:method.to-1])]
}

// plainID: a whole number as everybody writes it, or a short string without
// anything that could be written in two ways.
func plainID(id []byte) bool {
	if len(id) == 0 || len(id) > 64 {
		return false
	}
	if id[0] != '"' {
		if len(id) > 15 || id[0] == '0' && len(id) > 1 {
			return false
		}
		for _, c := range id {
			if c < '0' || c > '9' {
				return false
			}
		}
		return true
	}
	for _, c := range id[1 : len(id)-1] {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return len(id) > 2 && id[len(id)-1] == '"'
}

// scanner steps over JSON.
type scanner struct {
	in []byte
	at int
}

func (s *scanner) blanks() {
	for s.at < len(s.in) && (s.in[s.at] == ' ' || s.in[s.at] == '\t' || s.in[s.at] == '\r' || s.in[s.at] == '\n') {
		s.at++
	}
}

// skip steps over one character and the blanks before it.
func (s *scanner) skip(c byte) bool {
	s.blanks()
	if s.at == len(s.in) || s.in[s.at] != c {
		return false
	}
	s.at++
	return true
}

// text steps over a string that has no escape in it, and returns what is between
// the quotes.
func (s *scanner) text() (t span, ok bool) {
	if !s.skip('"') {
		return t, false
	}
	for i := s.at; i < len(s.in); i++ {
		switch s.in[i] {
		case '\\':
			return t, false
		case '"':
			t = span{s.at, i}
			s.at = i + 1
			return t, true
		}
	}
	return t, false
}

// value steps over a value: a string, what is in brackets, or the rest of a word.
func (s *scanner) value() bool {
	depth := 0
	for s.at < len(s.in) {
		switch c := s.in[s.at]; c {
		case '"':
			if !s.string() {
				return false
			}
			if depth == 0 {
				return true
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return true // of a word
			}
			if depth--; depth == 0 {
				s.at++
				return true
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return true
			}
		}
		s.at++
	}
	return false
}

// string steps over a string.
func (s *scanner) string() bool {
	s.at++
	for s.at < len(s.in) {
		n := bytes.IndexByte(s.in[s.at:], '"')
		if n < 0 {
			return false
		}
		end := s.at + n
		back := end
		for back > s.at && s.in[back-1] == '\\' {
			back--
		}
		s.at = end + 1
		if (end-back)%2 == 0 {
			return true
		}
	}
	return false
}

// answerHead is what every answer begins with, before its id.
const answerHead = `{"jsonrpc":"2.0","id":`

// tailOf is what follows the id in an answer with a result; nil where it is none,
// or another one's.
func tailOf(answer, id []byte) []byte {
	rest, ok := bytes.CutPrefix(answer, []byte(answerHead))
	if !ok {
		return nil
	}
	if rest, ok = bytes.CutPrefix(rest, id); !ok || !bytes.HasPrefix(rest, []byte(`,"result":`)) {
		return nil
	}
	return bytes.Clone(rest)
}
