package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// maxCalls is the largest number of calls in an answer.
const maxCalls = 1024

var (
	errNameless = errors.New("sent a call of a tool without the tool's name")
	errManyCall = errors.New("sent more than 1024 calls of tools in one answer")
)

// slot is a call that is put together.
type slot struct {
	id, name string
	// arguments is what came so far, a JSON string without its end or else a JSON object.
	arguments value
	// rest and inner have the other members of the call and of its function, which go back
	// to the endpoint.
	rest, inner value
}

// calls puts calls together from the pieces that Chat Completions streams. Servers differ in
// what they send of id and index, so that a piece opens a call if it has a new id, or a name
// where the call already has its name and arguments. Any other piece continues the call of
// its index, or else the last one.
type calls struct {
	all   []*slot
	ids   map[string]*slot
	index map[string]*slot
}

// add takes the calls of one delta.
func (c *calls) add(deltas []json.RawMessage) error {
	opened := map[*slot]bool{} // by this delta, which has no two pieces of one call without id
	for _, raw := range deltas {
		d := object(raw)
		if d == nil {
			continue
		}
		f := object(d["function"])
		id, name := text(d["id"]), text(f["name"])
		at := string(bytes.TrimSpace(d["index"]))
		s := c.find(id, at, name, opened)
		if s == nil {
			if len(c.all) == maxCalls {
				return errManyCall
			}
			s = &slot{rest: value{members: map[string]*value{}}, inner: value{members: map[string]*value{}}}
			c.all = append(c.all, s)
			if c.ids[id] == nil {
				s.id = id
			}
			opened[s] = true
		}
		c.keep(s, id, at)
		if name != s.name {
			s.name += name
		}
		if a := bytes.TrimSpace(f["arguments"]); len(a) > 0 {
			s.arguments.add("arguments", a, false)
		}
		s.take(&s.rest, d, "id", "index", "function")
		s.take(&s.inner, f, "name", "arguments")
	}
	return nil
}

// find returns the call that a piece continues, or nil if it opens one.
func (c *calls) find(id, at, name string, opened map[*slot]bool) *slot {
	s := c.ids[id]
	if id != "" && s == nil {
		return nil
	}
	if s == nil {
		if s = c.index[at]; s == nil && len(c.all) > 0 {
			s = c.all[len(c.all)-1]
		}
	}
	if s != nil && name != "" && s.name != "" && (opened[s] || s.isNext(name)) {
		return nil
	}
	return s
}

// isNext reports whether a piece with this name is of another call than s, which has arguments.
// Some servers repeat the name with each piece, so that one with the same name continues
// arguments that are not complete.
func (s *slot) isNext(name string) bool {
	a := s.text()
	return a != "" && (name != s.name || json.Valid([]byte(a)))
}

// keep remembers the id and the index of a call.
func (c *calls) keep(s *slot, id, at string) {
	if c.ids == nil {
		c.ids, c.index = map[string]*slot{}, map[string]*slot{}
	}
	if id != "" {
		c.ids[id] = s
	}
	if at != "" && at != "null" {
		c.index[at] = s
	}
}

// take keeps the members of a piece that the client does not read.
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

// text is the arguments so far.
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

// end returns the calls, and as Chat Completions writes them. used has the ids of the
// conversation; a call without an id gets one that is not among them.
func (c *calls) end(used map[string]bool) (all []Call, raw json.RawMessage, err error) {
	if len(c.all) == 0 {
		return nil, nil, nil
	}
	var written []members
	for _, s := range c.all {
		if s.name == "" {
			return nil, nil, errNameless
		}
		if s.id == "" {
			s.id = madeID(used, c.ids)
		}
		used[s.id] = true
		arguments := s.text()
		all = append(all, Call{ID: s.id, Name: s.name, Arguments: argumentsOf(arguments)})
		f := members{}
		for key, v := range s.inner.members {
			f[key] = v.json()
		}
		f["name"], f["arguments"] = quoted(s.name), quoted(arguments)
		call := members{"type": quoted("function")}
		for key, v := range s.rest.members {
			call[key] = v.json()
		}
		call["id"] = quoted(s.id)
		if call["function"], err = marshal(f); err != nil {
			return nil, nil, err
		}
		written = append(written, call)
	}
	raw, err = marshal(written)
	return all, raw, err
}

// madeID returns an id that no call has.
func madeID(used map[string]bool, came map[string]*slot) string {
	for n := 1; ; n++ {
		if id := "call_" + strconv.Itoa(n); !used[id] && came[id] == nil {
			return id
		}
	}
}

// argumentsOf returns the arguments of a call: {} if there are none, else what came.
func argumentsOf(s string) json.RawMessage {
	if len(bytes.TrimSpace([]byte(s))) == 0 {
		return json.RawMessage("{}")
	}
	return json.RawMessage(s)
}

// quoted writes a string as JSON.
func quoted(s string) json.RawMessage {
	raw, err := marshal(s)
	if err != nil {
		panic(fmt.Sprintf("a string has no JSON: %v", err)) // every string has
	}
	return raw
}
