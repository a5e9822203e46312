package chat

import (
	"context"
	"encoding/json"
	"time"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

// Record is one line of a transcript: an event of a conversation. Its Type decides which fields
// are set:
//
//	session    Session; before the first words, and when the model or the skills change
//	user       Text
//	assistant  Text, Stop
//	call       ID, Name, Arguments
//	consent    ID, Name, Consent; for a tool of another server
//	result     ID, Name, Text, IsError, Loaded
//	usage      Input, Output, Estimated; of one request
//	error      Text; why a turn ended
//	end        Text; why the program ended, empty if the user ended it
type Record struct {
	Time time.Time `json:"t"`
	Type string    `json:"type"`
	*Session
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Consent is yes, always, no, or the pattern that allows the call.
	Consent   string   `json:"consent,omitempty"`
	Text      string   `json:"text,omitempty"`
	Stop      string   `json:"stop,omitempty"`
	IsError   bool     `json:"isError,omitempty"`
	Loaded    []Loaded `json:"loaded,omitempty"`
	Input     int      `json:"input,omitempty"`
	Output    int      `json:"output,omitempty"`
	Estimated bool     `json:"estimated,omitempty"`
}

// Session names the model, its endpoint and the skills of a conversation.
type Session struct {
	Knack    string `json:"knack"` // the version
	Model    string `json:"model"`
	Host     string `json:"host"` // of the endpoint
	Wire     string `json:"wire"`
	Set      string `json:"set"`      // of tools
	Snapshot string `json:"snapshot"` // the digest of the skills' names, descriptions and SKILL.md files
}

// Loaded is a file of a skill that a call read.
type Loaded struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
}

// JSON returns the record as one line, with its line break.
func (r Record) JSON() []byte {
	b, err := rawjson.Marshal(r)
	if err != nil {
		return nil // only Arguments could be invalid, and they are checked before
	}
	return append(b, '\n')
}

func (c *Conversation) record(r Record) {
	r.Time = time.Now().UTC()
	c.o.Record(r)
}

// begin records the session if it differs from the last one recorded.
func (c *Conversation) begin(ctx context.Context) error {
	v, err := c.o.Host.Catalog.View(ctx)
	if err != nil {
		return err
	}
	now := c.o.About
	now.Snapshot = v.Fingerprints().Served.String()
	if now != c.session {
		c.session = now
		c.record(Record{Type: "session", Session: &now})
	}
	return nil
}

// End records the end of the program. why is the cause, empty if the user ended it.
func (c *Conversation) End(why string) { c.record(Record{Type: "end", Text: why}) }
