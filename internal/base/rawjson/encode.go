// Package rawjson writes JSON and walks over JSON text. It has an encoder that writes a large value
// in pieces, and functions that find the members of an object without decoding them.
package rawjson

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"iter"
	"runtime"
	"strconv"
	"sync"

	"github.com/knack-dev/knack/internal/base/display"
)

const (
	// piece is the number of bytes of a long text that are encoded in one step.
	piece = 16 << 10
	// flushAt is the buffer size at which an [Encoder] writes the buffer out. A smaller answer is
	// encoded and written once. Of 4,011 files of real skills, 3,979 are smaller than 60,000 bytes.
	flushAt = 64 << 10
	// longPart is the length from which JSON is not copied into the buffer.
	longPart = 4 << 10
	// keptBuffer is the size of the largest buffer that is reused.
	keptBuffer = 256 << 10
)

// Encoder writes JSON without HTML escapes. It appends to a buffer, and writes full buffers to a
// writer. The caller writes commas and colons.
type Encoder struct {
	parts [][]byte // unwritten parts; buf[from:] follows them
	buf   []byte
	from  int
	out   io.Writer // nil if the encoder only counts bytes
	sent  int64     // number of bytes written or counted
	err   error     // of writing to out
}

// manyWriter is a writer that writes several pieces in one call.
type manyWriter interface{ WriteMany(pieces [][]byte) error }

var encoders = sync.Pool{New: func() any { return &Encoder{buf: make([]byte, 0, 4<<10)} }}

// flush empties a full buffer. Then it yields to other goroutines, so small answers need not wait
// for large ones.
func (e *Encoder) flush() {
	if len(e.buf) >= flushAt {
		e.empty()
		runtime.Gosched()
	}
}

func (e *Encoder) empty() {
	e.part()
	for _, p := range e.parts {
		e.sent += int64(len(p))
	}
	if e.out != nil && e.err == nil {
		if e.err = e.write(); e.err != nil {
			e.buf = nil // out may still read the buffer
		}
	}
	e.drop()
}

// drop discards unwritten bytes.
func (e *Encoder) drop() {
	clear(e.parts)
	e.buf, e.parts, e.from = e.buf[:0], e.parts[:0], 0
}

// part ends the current part, which contains the bytes since the last part. If the buffer grows
// later, the part keeps the old array.
func (e *Encoder) part() {
	if len(e.buf) > e.from {
		e.parts = append(e.parts, e.buf[e.from:])
		e.from = len(e.buf)
	}
}

func (e *Encoder) write() (err error) {
	if w, ok := e.out.(manyWriter); ok {
		return w.WriteMany(e.parts)
	}
	for _, p := range e.parts {
		if _, err = e.out.Write(p); err != nil {
			break
		}
	}
	return err
}

// Raw writes text unchanged.
func (e *Encoder) Raw(s string) {
	e.buf = append(e.buf, s...)
	e.flush()
}

// RawBytes writes JSON unchanged. It does not copy long JSON, so the caller must not change b.
func (e *Encoder) RawBytes(b []byte) {
	if len(b) < longPart {
		e.buf = append(e.buf, b...)
		e.flush()
		return
	}
	e.part()
	e.parts = append(e.parts, b)
}

// Append writes the JSON that f appends.
func (e *Encoder) Append(f func([]byte) []byte) {
	e.buf = f(e.buf)
	e.flush()
}

// Int writes a number.
func (e *Encoder) Int(n int64) { e.buf = strconv.AppendInt(e.buf, n, 10) }

// Text is [Encoder.String] for bytes, without a copy.
func (e *Encoder) Text(b []byte) { e.String(display.TextOf(b)) }

// String writes a quoted string.
func (e *Encoder) String(s string) {
	for first := true; first || len(s) > 0; first = false {
		n := len(display.CutBytes(s, piece))
		if !first {
			e.buf = e.buf[:len(e.buf)-1] // removes the quote that ended the previous piece
		}
		from := len(e.buf)
		e.buf = display.AppendJSONString(e.buf, s[:n])
		if !first {
			copy(e.buf[from:], e.buf[from+1:]) // removes the quote that begins this piece
			e.buf = e.buf[:len(e.buf)-1]
		}
		if s = s[n:]; len(s) > 0 && len(e.buf) >= flushAt {
			last := e.buf[len(e.buf)-1]
			e.buf = e.buf[:len(e.buf)-1]
			e.empty()
			runtime.Gosched()
			e.buf = append(e.buf, last)
		}
	}
	e.flush()
}

// Base64 writes data as a Base64 string.
func (e *Encoder) Base64(data []byte) {
	e.buf = append(e.buf, '"')
	for len(data) > 0 {
		n := min(len(data), piece/4*3)
		e.buf = base64.StdEncoding.AppendEncode(e.buf, data[:n])
		e.flush()
		data = data[n:]
	}
	e.buf = append(e.buf, '"')
	e.flush()
}

// Value writes v as encoding/json does, or writes null if v cannot be encoded.
func (e *Encoder) Value(v any) {
	if err := e.value(v); err != nil {
		e.Raw("null")
	}
}

func (e *Encoder) value(v any) error {
	b, err := appendValue(e.buf, v)
	if err != nil {
		return err
	}
	e.buf = b
	e.flush()
	return nil
}

// Marshal is [json.Marshal] without HTML escapes.
func Marshal(v any) (json.RawMessage, error) { return appendValue(nil, v) }

func appendValue(b []byte, v any) ([]byte, error) {
	to := &appending{b}
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return to.b[:len(to.b)-1], nil // without the encoder's newline
}

// Object writes an object with the given members. It does not copy long strings.
func (e *Encoder) Object(fields iter.Seq2[string, any]) {
	comma := ""
	e.Raw("{")
	for key, value := range fields {
		e.Raw(comma)
		e.String(key)
		e.Raw(":")
		if text, ok := value.(string); ok {
			e.String(text)
		} else {
			e.Value(value)
		}
		comma = ","
	}
	e.Raw("}")
}

type appending struct{ b []byte }

func (a *appending) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// Write writes the output of encode. Before the first byte, it calls begin with the number of
// bytes. Output that exceeds one buffer is encoded twice, first only to count its bytes, so encode
// must be deterministic.
func Write(w io.Writer, encode func(*Encoder), begin func(size int64) error) error {
	e := encoders.Get().(*Encoder)
	defer e.free()
	encode(e)
	if err := begin(e.size()); err != nil {
		return err
	}
	e.out = w
	if e.sent > 0 {
		e.drop()
		e.sent = 0
		encode(e)
	}
	if e.size() > e.sent {
		e.empty()
	}
	return e.err
}

// size returns the number of encoded bytes.
func (e *Encoder) size() int64 {
	n := e.sent + int64(len(e.buf)-e.from)
	for _, p := range e.parts {
		n += int64(len(p))
	}
	return n
}

func (e *Encoder) free() {
	if cap(e.buf) > keptBuffer || e.err != nil {
		return
	}
	e.drop()
	e.out, e.sent = nil, 0
	encoders.Put(e)
}

// Bytes returns the JSON that f writes.
func Bytes(f func(*Encoder)) []byte {
	e := encoders.Get().(*Encoder)
	defer e.free()
	var whole appending
	e.out = &whole
	f(e)
	e.empty()
	return whole.b
}
