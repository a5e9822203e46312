package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// texted is a text in several Go types.
type texted struct {
	text string
	data []byte
	any  any
}

func (r texted) encode(e *Encoder) {
	e.Raw(`{"text":`)
	e.String(r.text)
	e.Raw(`,"blob":`)
	e.Base64(r.data)
	e.Raw(`,"bytes":`)
	e.Text([]byte(r.text))
	e.Raw(`,"n":`)
	e.Append(func(b []byte) []byte { return append(b, '-') })
	e.Int(5)
	e.Raw(`,"any":`)
	e.Value(r.any)
	e.Raw(`,"raw":`)
	e.RawBytes(r.raw())
	e.Raw("}")
}

// raw returns JSON as long as the data, but not longer than two buffers.
func (r texted) raw() []byte {
	return fmt.Appendf(nil, "%q", bytes.Repeat([]byte("r"), min(len(r.data), 2*flushAt)))
}

// pieces is a writer that stores all bytes written to it, and counts the writes.
type pieces struct {
	bytes.Buffer
	n       int
	largest int
}

func (p *pieces) Write(b []byte) (int, error) {
	p.n++
	p.largest = max(p.largest, len(b))
	return p.Buffer.Write(b)
}

// manyPieces is a writer that accepts all pieces in one call.
type manyPieces struct {
	bytes.Buffer
	given [][]byte
}

func (m *manyPieces) WriteMany(all [][]byte) error {
	for _, p := range all {
		m.given = append(m.given, p)
		m.Buffer.Write(p)
	}
	return nil
}

// TestLongPartIsNotCopied checks that a writer gets a long part without a copy, and all parts in
// order.
func TestLongPartIsNotCopied(t *testing.T) {
	part := []byte(strings.Repeat("p", longPart))
	var to manyPieces
	err := Write(&to, func(e *Encoder) {
		e.Raw("a")
		e.RawBytes(part)
		e.RawBytes(part)
		e.Raw("b")
		e.RawBytes([]byte("c"))
	}, func(size int64) error {
		if size != int64(2*len(part)+3) {
			t.Errorf("%d bytes were announced", size)
		}
		return nil
	})
	if err != nil || to.String() != "a"+string(part)+string(part)+"bc" {
		t.Fatalf("%v, %.20q", err, to.String())
	}
	if len(to.given) != 4 || &to.given[1][0] != &part[0] || &to.given[2][0] != &part[0] {
		t.Errorf("%d pieces, or a copy", len(to.given))
	}
}

// checkWritten writes r, and checks the announced size and that decoding returns the same values.
func checkWritten(t *testing.T, r texted) *pieces {
	t.Helper()
	out, size := &pieces{}, int64(-1)
	if err := Write(out, r.encode, func(n int64) error { size = n; return nil }); err != nil {
		t.Fatal(err)
	}
	if int64(out.Len()) != size {
		t.Errorf("%d bytes were announced, and %d came", size, out.Len())
	}
	var got struct {
		Text  string
		Bytes string
		Blob  []byte
		N     int
		Any   any
		Raw   json.RawMessage
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%s: %.100q", err, out.Bytes())
	}
	var any any
	plain, _ := json.Marshal(r.any)
	_ = json.Unmarshal(plain, &any)
	// A byte that belongs to no character becomes U+FFFD, as in encoding/json.
	if want := string([]rune(r.text)); got.Text != want || got.Bytes != want || !bytes.Equal(got.Blob, r.data) || !bytes.Equal(got.Raw, r.raw()) || !cmp.Equal(got.Any, any) {
		t.Errorf("%.100q came as %.100q", r.text, got.Text)
	}
	if !bytes.Equal(Bytes(r.encode), out.Bytes()) {
		t.Error("Bytes returns something else")
	}
	var many manyPieces
	if err := Write(&many, r.encode, func(int64) error { return nil }); err != nil || !bytes.Equal(many.Bytes(), out.Bytes()) {
		t.Errorf("a writer of many pieces has something else, %v", err)
	}
	return out
}

func TestWrite(t *testing.T) {
	for name, r := range map[string]texted{
		"nothing":    {},
		"short":      {text: "a\"\\\n\u2028<&>\x00\x7f\xffä", data: []byte("ab"), any: map[string]any{"a": "<"}},
		"one piece":  {text: strings.Repeat("x", piece), data: bytes.Repeat([]byte("y"), piece)},
		"characters": {text: strings.Repeat("a", piece-1) + strings.Repeat("😀", 9000)},
		"no text":    {text: strings.Repeat("\x80", 3*piece)},
		"mixed":      {text: strings.Repeat("\xf0\x9f\x98\x80\x80\x80\x80\x80\x80", 9000)},
		"controls":   {text: strings.Repeat("\x01", 1<<20), data: bytes.Repeat([]byte{0}, 1<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			out := checkWritten(t, r)
			if len(r.text) > 4*flushAt && out.n < 10 {
				t.Errorf("%d bytes were written in %d pieces", out.Len(), out.n)
			}
			// A piece of text can grow sixfold when the buffer is nearly full.
			if out.largest > max(flushAt+6*piece, len(r.raw()))+2 {
				t.Errorf("a piece has %d bytes", out.largest)
			}
		})
	}
}

// TestObject checks that Object writes the same bytes as encoding/json for a struct, even for a
// text of many pieces.
func TestObject(t *testing.T) {
	long := strings.Repeat("a\"ä😀\n<&>\u2028", 20_000)
	object := func(fields ...any) string {
		return string(Bytes(func(e *Encoder) {
			e.Object(func(yield func(string, any) bool) {
				for i := 0; i < len(fields) && yield(fields[i].(string), fields[i+1]); i += 2 {
				}
			})
		}))
	}
	text := `"` + strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(long) + `"`
	for got, want := range map[string]string{
		object(): `{}`,
		object("a", true, "b\n", int64(-5), "c", "<", "d", nil): `{"a":true,"b\n":-5,"c":"<","d":null}`,
		object("a", long, "b", false, "c", long):                `{"a":` + text + `,"b":false,"c":` + text + `}`,
	} {
		if got != want {
			t.Errorf("%.100q, want %.100q", got, want)
		}
	}
}

func FuzzWrite(f *testing.F) {
	f.Add("a", []byte("b"), 1)
	f.Add("\xe2\x80\xa8\xff\x1f", []byte{0xff}, 5000)
	f.Fuzz(func(t *testing.T, s string, data []byte, n int) {
		n = max(1, min(n, 1<<17/(len(s)+len(data)+1)))
		checkWritten(t, texted{text: strings.Repeat(s, n), data: bytes.Repeat(data, n), any: s})
	})
}

// keeper is a writer that fails but continues to read its argument, like a write that cannot be
// interrupted.
type keeper struct {
	given []byte
	then  string // the content of given at that time
}

func (k *keeper) Write(p []byte) (int, error) {
	k.given, k.then = p, string(p)
	return 0, errors.New("no")
}

// TestWriteLeavesWhatWasGiven checks that the bytes given to a writer do not change afterwards,
// even if the write failed.
func TestWriteLeavesWhatWasGiven(t *testing.T) {
	k := &keeper{}
	r := texted{text: strings.Repeat("0123456789", 10*flushAt/10) + strings.Repeat("x", 10*flushAt)}
	if err := Write(k, r.encode, func(int64) error { return nil }); err == nil {
		t.Fatal("no error")
	}
	if string(k.given) != k.then {
		t.Error("the buffer was used again")
	}
}

// TestMarshal checks that Marshal escapes no HTML, ends without a newline and returns errors.
func TestMarshal(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  string
	}{
		{"<a & b>\n\u2028", `"<a & b>\n\u2028"`},
		{map[string]any{"b": 1, "a": json.RawMessage(`{ "<": [] }`)}, `{"a":{"<":[]},"b":1}`},
		{func() {}, ""},
	} {
		if got, err := Marshal(tt.value); string(got) != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("Marshal(%v) = %s, %v; want %s", tt.value, got, err, tt.want)
		}
	}
}
