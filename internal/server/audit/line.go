// Package audit writes a server's events to a log, one JSON object per line. A line has the
// subject, the request and the result.
package audit

import (
	"encoding/json"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/server/event"
)

// maxText bounds each text of a line, in bytes. Clients choose most of the texts.
const maxText = 512

// appendLine appends an event as a line of JSON. It escapes line breaks, so that no text can forge
// a line. It also escapes direction and format characters, because people read the log.
func appendLine(b []byte, e event.Event) []byte {
	texts := []*string{&e.Subject, &e.Client, &e.Address, &e.Method, &e.Tool, &e.Asked, &e.File, &e.Reason}
	if e.Change != nil {
		r := *e.Change
		texts = append(texts, &r.Release, &r.From, &r.Version, &r.Signer)
		e.Change = &r
	}
	for _, text := range texts {
		*text = cut(*text)
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // cannot fail: strings, numbers and a time of this century
	}
	return append(display.AppendVisibleJSON(b, line), '\n')
}

// cut shortens a string to maxText bytes, with an ellipsis at its end.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(display.CutBytes(s, maxText), "\ufffd") + "…"
}
