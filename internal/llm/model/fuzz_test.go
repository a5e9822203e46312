package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

var lineEnd = regexp.MustCompile("\r\n|\n|\r")

// eventsOf returns the events of a stream, computed in another way: it splits all lines first, and
// then groups them into events.
func eventsOf(body string) (all []string) {
	var data []string
	lines := lineEnd.Split(body, -1)
	for i, line := range lines {
		if line == "" || i == len(lines)-1 {
			if name, value, _ := strings.Cut(line, ":"); name == "data" {
				data = append(data, strings.TrimPrefix(value, " "))
			}
			if data != nil {
				all = append(all, strings.Join(data, "\n"))
			}
			data = nil
			continue
		}
		if name, value, _ := strings.Cut(line, ":"); name == "data" {
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	return all
}

// FuzzEvents checks that the events of a stream are the events that eventsOf returns, however the
// stream is split.
func FuzzEvents(f *testing.F) {
	f.Add("data: a\n\ndata:b\r\ndata: c\r\r: d\rdata", byte(3))
	f.Add("data\n\nevent: x\ndata:  y\nid: 7\n\n\n\ndata: z", byte(0))
	f.Add(stream(streams[1].events...), byte(9))
	f.Fuzz(func(t *testing.T, body string, size byte) {
		e := newEvents(bufio.NewReaderSize(pieces{strings.NewReader(body), int(size)%16 + 1}, 16))
		var got []string
		for {
			data, err := e.next()
			if err == io.EOF {
				break
			}
			must(t, err)
			got = append(got, string(data))
		}
		if want := eventsOf(body); strings.Join(got, "|") != strings.Join(want, "|") || len(got) != len(want) {
			t.Fatalf("events %q, want %q", got, want)
		}
	})
}

// pieces is a reader that returns at most n bytes for each read.
type pieces struct {
	from io.Reader
	n    int
}

func (p pieces) Read(b []byte) (int, error) { return p.from.Read(b[:min(len(b), p.n)]) }

// FuzzCalls checks that an answer of Chat Completions is refused, or has calls with names,
// arguments and unique ids. It also checks that the message that is sent back is read as the same
// answer.
func FuzzCalls(f *testing.F) {
	for _, s := range streams {
		f.Add([]byte(stream(s.events...)))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkAnswer(t, chat{}, body) })
}

// FuzzTurns is FuzzCalls for Messages.
func FuzzTurns(f *testing.F) {
	for _, s := range turns {
		f.Add([]byte(stream(append(append([]string{messageStart}, s.blocks...), messageEnd(s.reason)...)...)))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkAnswer(t, messages{}, body) })
}

// checkAnswer reads an answer, and then the message that is sent back for it, and compares both.
func checkAnswer(t *testing.T, w wire, body []byte) {
	used := map[string]bool{"call_1": true}
	streamed := ""
	in := w.reader(used, func(s string) { streamed += s })
	if read(bytes.NewReader(body), in) != nil {
		return
	}
	a, err := in.end()
	if err != nil {
		return
	}
	if a.Message.Text != streamed || !utf8.ValidString(streamed) {
		t.Fatalf("shown %q of %q", streamed, a.Message.Text)
	}
	ids := map[string]bool{}
	for _, c := range a.Message.Calls {
		if c.ID == "" || ids[c.ID] || c.Name == "" || len(c.Arguments) == 0 {
			t.Fatalf("calls %+v", a.Message.Calls)
		}
		ids[c.ID] = true
	}
	again := w.reader(map[string]bool{}, func(string) {})
	if w == (chat{}) {
		err = again.readWhole([]byte(`{"choices":[{"message":` + string(a.Message.Raw) + `}]}`))
	} else {
		err = again.readWhole(a.Message.Raw)
	}
	if err != nil {
		t.Fatalf("what goes back is no answer: %v: %s", err, a.Message.Raw)
	}
	b, err := again.end()
	if err != nil {
		t.Fatalf("what goes back is no answer: %v: %s", err, a.Message.Raw)
	}
	if len(b.Message.Calls) != len(a.Message.Calls) {
		t.Fatalf("calls %+v, and then %+v", a.Message.Calls, b.Message.Calls)
	}
	for i, c := range a.Message.Calls {
		if d := b.Message.Calls[i]; d.ID != c.ID || d.Name != c.Name || !sameValue(d.Arguments, sendable(c.Arguments)) {
			t.Fatalf("call %+v, and then %+v", c, d)
		}
	}
	if !sameValue(a.Message.Raw, b.Message.Raw) {
		t.Fatalf("what goes back is %s, and then %s", a.Message.Raw, b.Message.Raw)
	}
}

// sameValue reports whether two texts are the same JSON.
func sameValue(a, b json.RawMessage) bool {
	return bytes.Equal(decodedText(a), decodedText(b))
}
