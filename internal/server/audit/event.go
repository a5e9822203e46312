// Package audit logs a server's decisions and the files it served, one JSON object a line. A line
// has the subject, the request and the result. It never has contents, tokens, or arguments other
// than the requested name and path.
package audit

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
)

// Result is the outcome of a request.
type Result string

// The results. A client that is denied a skill gets the same answer as for a missing skill; only
// this log tells the two apart.
const (
	OK           Result = "ok"
	NotFound     Result = "not found"
	Denied       Result = "denied"        // the skill exists, but rules, its author or the operator's policy hide it from the subject
	RefusedToken Result = "refused token" // a required token is missing or unknown
	Refused      Result = "refused"       // the host or the origin is not served, or a reload is rejected
	Limited      Result = "limited"       // too many requests, or too much load
	Busy         Result = "busy"          // the skill may exist: a disk did not answer in time, or the machine is busy
	Failed       Result = "error"         // no answer was possible, for example after a malformed request or a disk error
	resultLost   Result = "lost"          // lines of this log were lost
)

// The surfaces.
const (
	MCP       = "mcp"
	API       = "api"
	Web       = "web"
	WellKnown = "well-known"
	Server    = "server" // the server itself, without a client's request
	Source    = "source" // a source of skills, which the server reads
)

// Event is a line of the log. Unknown fields and fields that do not apply are empty and left out.
type Event struct {
	Time    time.Time `json:"time"`
	Surface string    `json:"surface,omitempty"`
	Subject string    `json:"subject,omitempty"` // the owner of the token
	Client  string    `json:"client,omitempty"`  // the client's own name for itself
	Address string    `json:"address,omitempty"` // of the connection, without its port
	Method  string    `json:"method,omitempty"`  // of MCP or HTTP
	Tool    string    `json:"tool,omitempty"`
	Asked   string    `json:"asked,omitempty"` // the name or URI of a skill, or the path of a page
	File    string    `json:"file,omitempty"`  // of the skill, if a file was requested
	Loaded  []Load    `json:"loaded,omitempty"`
	Result  Result    `json:"result"`
	Status  int       `json:"status,omitempty"` // of HTTP, outside MCP
	Reason  string    `json:"reason,omitempty"` // of a rejected reload or release, or of a held-back skill
	*Change
	// Times is the number of events, if one line stands for several.
	Times uint64 `json:"times,omitempty"`
}

// Change is the outcome of a release of skills, in a line about a source.
type Change struct {
	Release string `json:"release,omitempty"` // its digest
	From    string `json:"from,omitempty"`    // the digest of the release served before
	Version string `json:"version,omitempty"`
	Signer  string `json:"signer,omitempty"` // the key that signed the release
	// The numbers of skills that a swap added, changed and removed.
	Added   int `json:"added,omitempty"`
	Changed int `json:"changed,omitempty"`
	Removed int `json:"removed,omitempty"`
}

// Load is a file of a skill that was served.
type Load struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

// maxText bounds each text of a line, in bytes: clients choose most of the texts.
const maxText = 512

// appendTo appends the event as a line. JSON escapes characters that would end or forge a line.
// Direction and format characters are escaped too, since people read the log.
func (e Event) appendTo(b []byte) []byte {
	for _, text := range []*string{&e.Subject, &e.Client, &e.Address, &e.Method, &e.Tool, &e.Asked, &e.File, &e.Reason} {
		*text = cut(*text)
	}
	if e.Change != nil {
		r := *e.Change
		for _, text := range []*string{&r.Release, &r.From, &r.Version, &r.Signer} {
			*text = cut(*text)
		}
		e.Change = &r
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // cannot fail: strings, numbers and a time of this century
	}
	return append(display.AppendVisibleJSON(b, line), '\n')
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
