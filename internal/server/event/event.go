// Package event describes the requests to a server and its other decisions. An [Event] is filled
// once, where a request is answered; the audit log, the counts of usage and the metrics read it.
package event

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/tool"
)

// Event is one request or decision. Unknown fields and fields that do not apply are empty. The
// audit log writes the fields with a JSON name. It never has contents, tokens, or arguments other
// than the requested name and path.
type Event struct {
	Time    time.Time `json:"time"` // if zero, the log sets it
	Surface string    `json:"surface,omitempty"`
	Subject string    `json:"subject,omitempty"` // the owner of the token
	Client  string    `json:"client,omitempty"`  // the client's own name for itself
	Address string    `json:"address,omitempty"` // of the connection, without its port
	Method  string    `json:"method,omitempty"`  // of MCP or HTTP, or the action of a source
	Tool    string    `json:"tool,omitempty"`
	Asked   string    `json:"asked,omitempty"` // the name or URI of a skill, or the path of a page
	File    string    `json:"file,omitempty"`  // of the skill, if a file was requested
	// Loaded has the files that were served, if an audit log asks for them.
	Loaded []catalog.Load `json:"loaded,omitempty"`
	Result Result         `json:"result"`
	Status int            `json:"status,omitempty"` // of HTTP, outside MCP
	Reason string         `json:"reason,omitempty"` // of a rejected reload or release, or of a held-back skill
	*Change
	// Times is the number of events, if one line stands for several.
	Times uint64 `json:"times,omitempty"`

	// Route is the method of MCP or the pattern of the page that answered; empty if none did.
	Route   string        `json:"-"`
	Took    time.Duration `json:"-"` // until the answer was made
	Refusal Refusal       `json:"-"`
	View    catalog.View  `json:"-"` // the subject's, after a use of skills or a failure
	// Unlogged leaves the event out of the audit log: it decides nothing, or is one of a flood.
	Unlogged bool `json:"-"`
}

// Sink takes events. Record runs in the goroutine of the request; it copies data that it
// keeps.
type Sink interface{ Record(e *Event) }

// Sinks are all sinks of a server.
type Sinks []Sink

// Record gives an event to each sink.
func (s Sinks) Record(e *Event) {
	for _, to := range s {
		to.Record(e)
	}
}

// Result is the outcome of a request.
type Result string

// The results. A client that is denied a skill gets the same answer as for a missing skill; only
// the audit log tells the two apart.
const (
	OK           Result = "ok"
	NotFound     Result = "not found"
	Denied       Result = "denied"        // the skill exists, but rules, its author or the operator's policy hide it from the subject
	RefusedToken Result = "refused token" // a required token is missing or unknown
	Refused      Result = "refused"       // the host or the origin is not served, or a reload is rejected
	Limited      Result = "limited"       // too many requests, or too much load
	Busy         Result = "busy"          // the skill may exist: a disk did not answer in time, or the machine is busy
	Failed       Result = "error"         // no answer was possible, for example after a malformed request or a disk error
	Lost         Result = "lost"          // lines of the audit log were lost
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

// Refusal is the reason of an answer 401, 403 or 429.
type Refusal string

// The reasons of refusals.
const (
	NoToken      Refusal = "no-token" // 401: the request has no token
	UnknownToken Refusal = "token"    // 401
	OtherHost    Refusal = "host"     // 403: the host is not served
	OtherOrigin  Refusal = "origin"   // 403: the origin is not served
	Forbidden    Refusal = "other"    // 403
	OverRate     Refusal = "rate"     // 429: a client exceeds its rate
	OverUnknown  Refusal = "unknown"  // 429: an address exceeds the rate without a token
	OverRefused  Refusal = "refused"  // 429: an address was refused too often
	TooBusy      Refusal = "busy"     // 429: too many requests at once
)

// Change is the outcome of a release of skills, in an event of a source.
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

// UsesSkills reports whether requests of an MCP method count as uses of skills.
func UsesSkills(method string) bool {
	switch method {
	case "tools/list", "tools/call", "resources/read", "prompts/get":
		return true
	}
	return false
}

// Call sets the tool, the skill and the file that a call of an MCP method asks for. name is a tool's
// or a prompt's, uri a resource's, and t the tool with that name, or nil.
func (e *Event) Call(t *tool.Tool, name, uri string, arguments json.RawMessage) {
	switch e.Method {
	case "tools/call":
		if e.Tool = name; t != nil {
			e.Asked, e.File = t.Asked(arguments)
		}
	case "prompts/get":
		e.Asked = name
	}
	e.Asked = cmp.Or(uri, e.Asked)
}
