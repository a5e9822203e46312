// Package event describes the requests to a server and its other decisions. An [Event] is filled
// where a request is answered or refused: in package mcpserver for messages of MCP, in package
// httpguard for pages and refusals. The audit log, the usage counts and the metrics read it.
package event

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/tool"
)

// Event is one request or decision. Fields that are unknown or do not apply are empty. The audit
// log writes the fields that have a JSON name. An event never contains contents, tokens, or
// arguments other than the requested name and path.
type Event struct {
	Time    time.Time `json:"time"` // if zero, the log sets it
	Surface string    `json:"surface,omitempty"`
	Subject string    `json:"subject,omitempty"` // the owner of the token
	Client  string    `json:"client,omitempty"`  // the name that the client gives itself
	Address string    `json:"address,omitempty"` // address of the client, without the port
	Method  string    `json:"method,omitempty"`  // method of MCP or HTTP, or the action of a source
	Tool    string    `json:"tool,omitempty"`
	Asked   string    `json:"asked,omitempty"` // the name or URI of a skill, or the path of a page
	File    string    `json:"file,omitempty"`  // path of the requested file in the skill
	// Loaded lists the files that were served, if there is an audit log.
	Loaded []catalog.Load `json:"loaded,omitempty"`
	Result Result         `json:"result"`
	Status int            `json:"status,omitempty"` // status of HTTP, outside MCP
	Reason string         `json:"reason,omitempty"` // reason for a rejected reload or release, or for a held-back skill
	*Change
	// Times is the number of events that one line stands for, if more than one.
	Times uint64 `json:"times,omitempty"`

	// Route is the MCP method or the page pattern that answered, or "" if none did.
	Route   string        `json:"-"`
	Took    time.Duration `json:"-"` // the time until the answer was made
	Refusal Refusal       `json:"-"`
	View    catalog.View  `json:"-"` // the subject's view, after a use of skills or a failure
	// Unlogged leaves the event out of the audit log: it records no decision, or is one of a flood.
	Unlogged bool `json:"-"`
}

// Sink receives events. Record runs in the goroutine of the request, and must copy data that it
// retains.
type Sink interface{ Record(e *Event) }

// Sinks is the list of all sinks of a server.
type Sinks []Sink

// Record passes an event to each sink.
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
	Denied       Result = "denied"        // rules, its author or the operator's policy hide the existing skill from the subject
	RefusedToken Result = "refused token" // a required token is missing or unknown
	Refused      Result = "refused"       // the host or the origin is not served, or a reload is rejected
	Limited      Result = "limited"       // too many requests, or too much load
	Busy         Result = "busy"          // a disk did not answer in time, or the machine is busy: the skill may exist
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

// Refusal is the reason for an answer 401, 403 or 429.
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
	TooBusy      Refusal = "busy"     // 429: too many concurrent requests
)

// Change describes a change of the release of a source.
type Change struct {
	Release string `json:"release,omitempty"` // its digest
	From    string `json:"from,omitempty"`    // the digest of the release served before
	Version string `json:"version,omitempty"`
	Signer  string `json:"signer,omitempty"` // the key that signed the release
	// Added, Changed and Removed are numbers of skills.
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

// Call sets the tool, the skill and the file that a call of an MCP method requests. name is the
// name of a tool or a prompt, uri the URI of a resource, and t the tool with that name, or nil.
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
