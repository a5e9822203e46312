package model

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

// maxCalls is the largest number of calls in an answer.
const maxCalls = 1024

var (
	errNameless  = errors.New("sent a call of a tool without the tool's name")
	errManyCalls = errors.New("sent more than 1024 calls of tools in one answer")
)

// slot is a call under construction.
type slot struct {
	id, name string
	// arguments holds the pieces so far: a JSON string without its end, or a JSON object.
	arguments value
	// rest and inner hold the other members of the call and of its function, which are sent back
	// to the endpoint.
	rest, inner value
}

// calls assembles calls from the pieces that Chat Completions streams. Servers differ in the ids
// and indexes that they send; see find.
type calls struct {
	all   []*slot
	ids   map[string]*slot
	index map[string]*slot
}

// add adds the calls of one delta.
func (c *calls) add(deltas []json.RawMessage) error {
	opened := map[*slot]bool{} // by this delta
	for _, raw := range deltas {
		d := object(raw)
		if d == nil {
			continue
		}
		f := object(d["function"])
		p := piece{id: text(d["id"]), name: text(f["name"]), index: string(d["index"]), arguments: f["arguments"]}
		s := c.find(p, opened)
		if s == nil {
			if len(c.all) == maxCalls {
				return errManyCalls
			}
			s = &slot{rest: value{members: map[string]*value{}}, inner: value{members: map[string]*value{}}}
			c.all = append(c.all, s)
			opened[s] = true
		}
		c.keep(s, p)
		s.take(&s.rest, d, "id", "index", "function")
		s.take(&s.inner, f, "name", "arguments")
	}
	return nil
}

// piece is a piece of a call.
type piece struct {
	id, name, index string
	arguments       json.RawMessage
}

// find returns the call that a piece continues, or nil if the piece opens one. It looks for the
// piece's id, then its index, then takes the last call. A piece opens a call if it has a new id,
// or if it has a name and the call already has its name and arguments.
//
// Some servers make up a new id for each piece. So a new id without a name continues a call whose
// arguments are incomplete (poolsideai/pool#9).
func (c *calls) find(p piece, opened map[*slot]bool) *slot {
	s, known := c.ids[p.id]
	if !known {
		s = c.index[p.index]
	}
	if p.id != "" && !known {
		switch {
		case s == nil:
			return nil
		case p.name == "" && s.name != "" && !s.complete():
			return s
		}
		return nil
	}
	if s == nil && len(c.all) > 0 {
		s = c.all[len(c.all)-1]
	}
	if s != nil && p.name != "" && s.name != "" && (opened[s] || s.isNext(p.name)) {
		return nil // one delta never has two pieces of a call
	}
	return s
}

// isNext reports whether a piece with this name belongs to another call than s. Some servers
// repeat the name with each piece, so a piece with the same name continues incomplete arguments.
func (s *slot) isNext(name string) bool {
	return s.text() != "" && (name != s.name || s.complete())
}

// complete reports whether the arguments are complete JSON.
func (s *slot) complete() bool { return json.Valid([]byte(s.text())) }

// keep adds a piece to its call, and records the id and the index of the piece.
func (c *calls) keep(s *slot, p piece) {
	if c.ids == nil {
		c.ids, c.index = map[string]*slot{}, map[string]*slot{}
	}
	if p.id != "" {
		if s.id == "" && c.ids[p.id] == nil {
			s.id = p.id
		}
		c.ids[p.id] = s
	}
	if p.index != "" && p.index != "null" {
		c.index[p.index] = s
	}
	if p.name != s.name {
		s.name += p.name
	}
	s.arguments.add("arguments", p.arguments, false)
}

// take adds d, the members of a piece, to a value. It skips the members named in read, because the
// client interprets those itself.
func (s *slot) take(in *value, d members, read ...string) {
next:
	for key, p := range d {
		for _, r := range read {
			if key == r {
				continue next
			}
		}
		in.member(key).add(key, p, false)
	}
}

// text returns the arguments so far.
func (s *slot) text() string {
	raw := s.arguments.json()
	if len(raw) > 0 && raw[0] == '"' {
		return text(raw)
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// end returns the calls, and their form in Chat Completions. A call without an id gets one that
// is not in used, the ids of the conversation.
func (c *calls) end(used map[string]bool) (all []Call, written []members, err error) {
	for _, s := range c.all {
		arguments := s.text()
		switch {
		case s.name == "" && arguments == "":
			continue // only an index came, before an id that opened another call
		case s.name == "":
			return nil, nil, errNameless
		case s.id == "":
			s.id = madeID(used, c.ids)
			c.keep(s, piece{id: s.id})
		}
		call := Call{ID: s.id, Name: s.name, Arguments: argumentsOf(arguments)}
		all = append(all, call)
		f := s.inner.object()
		f["name"], f["arguments"] = quoted(s.name), quoted(string(sendable(call.Arguments)))
		function, err := rawjson.Marshal(f)
		if err != nil {
			return nil, nil, err
		}
		m := s.rest.object()
		m["id"], m["function"] = quoted(s.id), function
		if !has(m["type"]) {
			m["type"] = quoted("function")
		}
		written = append(written, m)
	}
	return all, written, nil
}

// madeID returns a new id, unused in the conversation and in this answer.
func madeID[T any](used map[string]bool, came map[string]T) string {
	for n := 1; ; n++ {
		id := "call_" + strconv.Itoa(n)
		if _, taken := came[id]; !taken && !used[id] {
			return id
		}
	}
}

// argumentsOf returns the arguments of a call, or {} without any.
func argumentsOf(s string) json.RawMessage {
	if strings.TrimSpace(s) == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(s)
}
