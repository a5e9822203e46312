// Package audit writes what a server decided, and what it let be loaded: one JSON
// object a line. A line says who asked for what, and how it ended; it never has
// contents, tokens, or arguments beside the name and path that were asked for.
package audit

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/knack-dev/knack/skill"
)

// Result is how a request ended.
type Result string

// The results. A client to whom a skill is denied is told that there is none; only
// this log tells the two apart.
const (
	OK           Result = "ok"
	NotFound     Result = "not found"
	Denied       Result = "denied"        // it is there, and rules or its author keep it from who asked
	RefusedToken Result = "refused token" // no token where one is needed, or one that nobody has
	Refused      Result = "refused"       // not let in, whoever it was: a host or an origin that is not served
	Limited      Result = "limited"       // asked too often, or when there was too much to do
	Failed       Result = "error"         // could not be answered: a wrong request, a disk's error
	Lost         Result = "lost"          // lines of this log that could not be written
)

// The surfaces.
const (
	MCP       = "mcp"
	API       = "api"
	Web       = "web"
	WellKnown = "well-known"
)

// Event is a line. What is not known, or does not apply, is empty and left out.
type Event struct {
	Time    time.Time `json:"time"`
	Surface string    `json:"surface,omitempty"`
	Subject string    `json:"subject,omitempty"` // whose token it was
	Client  string    `json:"client,omitempty"`  // what it calls itself
	Address string    `json:"address,omitempty"` // from which the request came, without its port
	Method  string    `json:"method,omitempty"`  // of MCP or of HTTP
	Tool    string    `json:"tool,omitempty"`
	Asked   string    `json:"asked,omitempty"` // the name or URI of a skill, or the path of a page
	File    string    `json:"file,omitempty"`  // of the skill, where it was asked for by itself
	Loaded  []Load    `json:"loaded,omitempty"`
	Result  Result    `json:"result"`
	Status  int       `json:"status,omitempty"` // of HTTP, where it is not within MCP
	// Times is how often this was so, where one line stands for several.
	Times uint64 `json:"times,omitempty"`
}

// Load is a file of a skill as it was given out.
type Load struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

// maxText bounds each text of a line, in bytes: clients choose most of them.
const maxText = 512

// appendTo writes the event as a line. JSON escapes what would end or forge one;
// direction and format characters are escaped too, since people read it.
func (e Event) appendTo(b []byte) []byte {
	for _, text := range []*string{&e.Subject, &e.Client, &e.Address, &e.Method, &e.Tool, &e.Asked, &e.File} {
		*text = cut(*text)
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // strings, numbers and a time of this century
	}
	return append(skill.AppendVisibleJSON(b, line), '\n')
}

func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	n := maxText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.ToValidUTF8(s[:n], "\ufffd") + "…"
}
