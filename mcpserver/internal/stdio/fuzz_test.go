package stdio

import (
	"bytes"
	"testing"
)

// FuzzStdioLine sends any lines, then a ping. It checks that every line of the output is a message,
// and that the ping is answered.
func FuzzStdioLine(f *testing.F) {
	for _, seed := range []string{
		stdioInit + "\n" + stdioReady + "\n" + stdioCall("1", "echo"),
		stdioListen("1") + "\n" + stdioCancel("1"),
		stdioPing(`"a"`) + "\r\n\r\n" + stdioPing(`"a"`),
		"\ufeff" + stdioPing("1") + " x", "oops", "[]", "null", "\xff", "{\"id\":1e99}",
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":7}`,
		`{"jsonrpc":"2.0","id":null,"method":""}`, `{"jsonrpc":"2.0","id":"\ud800","method":"x"}`,
		stdioPing(`"<&\u2028>"`), string(bytes.Repeat([]byte("x"), 5000)),
		string(bytes.Repeat([]byte(stdioPing("1")+"\n"), 20)),
	} {
		f.Add([]byte(seed))
	}
	server := newStdioTools()
	const probe = `"the ping after"`
	f.Fuzz(func(t *testing.T, lines []byte) {
		if bytes.Contains(lines, []byte("the ping after")) || bytes.Contains(lines, []byte("gate")) {
			t.Skip()
		}
		// There is room for all calls at the same time, so that the ping is not refused as one call
		// too many.
		out := &stdioOut{t: t, messages: make(chan stdioMessage, len(lines)+8)}
		s := startStdio(t, server, &Transport{Out: out, MaxLine: 4096, MaxInFlight: len(lines) + 1})
		s.out = out
		s.send(string(lines))
		s.send(stdioPing(probe))
		for {
			m := s.recv() // every write is checked by stdioOut
			if string(m.ID) != probe {
				continue
			}
			if m.Error != nil {
				t.Fatalf("the ping is refused: %+v", m.Error)
			}
			break
		}
		must(t, s.end())
	})
}
