// Package tool implements the model-facing contracts, independent of a protocol: the name,
// the arguments and the exact answers of each tool.
//
// Contracts are served in sets, since two of them share a name and two differ
// only in case. A set is parsed once with [ParseSets]; each [Tool] then describes
// itself for a view of the catalogue and answers calls.
package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/display"
)

// Host has the state that the tools of one server share.
type Host struct {
	Catalog *catalog.Catalog
	// Remote is set if the model is on another machine, so that a folder is named by its
	// URI.
	Remote bool
	// Observe, if set, is called with every call and its result after the answer, in the
	// goroutine of the call, possibly concurrently.
	Observe func(Event)
	// Engage, if set, returns the text of skill://engage/SKILL.md if no skill that models
	// may read has this URI or name: by contract 004 it always answers. It is called at
	// each such read.
	Engage func() string

	served memo
	rescan rescan
}

// Tool is one contract in a set.
type Tool struct {
	Contract    string // "002"
	Name, Title string
	Schema      json.RawMessage // of the arguments, as JSON Schema
	// Brief is the description in a function definition, if the contract has another one
	// for that than for MCP; else empty.
	Brief string
	// Meta is the tool's _meta in tools/list, for the clients that read it; mostly nil.
	Meta map[string]any

	describe func(v catalog.View, c Client) string
	// arranged is the list of skills in the description; nil without a list.
	arranged func(v catalog.View, c Client) arranged
	call     func(ctx context.Context, h *Host, args arguments) (Result, error)
	// malformed answers a call whose arguments are not one JSON object, or have keys that
	// are not allowed, in the contract's words; nil if it has none.
	malformed func(ctx context.Context, h *Host, err error) (Result, error)
	strict    []string // the allowed keys, in order; nil if unknown keys are ignored
	also      []string // keys that are allowed beside strict, and that no message names
}

// Definition describes a tool to a client.
type Definition struct {
	Name, Title, Description string
	Schema                   json.RawMessage
	Meta                     map[string]any // see [Tool.Meta]
}

// Define describes the tool. Every tool is read-only, idempotent and closed.
func (t *Tool) Define(v catalog.View, c Client) Definition {
	return Definition{Name: t.Name, Title: t.Title, Description: t.describe(v, c), Schema: t.Schema, Meta: t.Meta}
}

// Result is an answer. Text is for the model; Object is the same as a JSON object if the
// contract defines one.
type Result struct {
	Text    string
	Object  any
	IsError bool
	// Absent is set if no skill has the name. Contract 002 does not call that an error, so
	// IsError is not set.
	Absent bool
	// Meta has data of the answer besides its contract's fields; mostly nil.
	Meta map[string]any
}

// Object is an object of a [Result] that may be long. Its fields can be written one by one,
// so that no copy of it is made.
type Object interface{ Fields() []Field }

// Field is one of an object; its value is a string, a bool or an int64.
type Field struct {
	Key   string
	Value any
}

func marshal(o Object) []byte {
	b := []byte{'{'}
	for i, f := range o.Fields() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(display.AppendJSONString(b, f.Key), ':')
		switch v := f.Value.(type) {
		case string:
			b = display.AppendJSONString(b, v)
		case bool:
			b = strconv.AppendBool(b, v)
		case int64:
			b = strconv.AppendInt(b, v, 10)
		}
	}
	return append(b, '}')
}

// answer is [Tool.Call] unobserved.
func (t *Tool) answer(ctx context.Context, h *Host, args json.RawMessage) (Result, error) {
	a, err := parseArguments(args, t.strict, t.also...)
	switch {
	case err != nil && t.malformed != nil:
		return t.malformed(ctx, h, err)
	case err != nil:
		return failure("Invalid arguments for tool %s: %s", t.Name, err), nil
	}
	return t.call(ctx, h, a)
}

// invalidArguments begins the answer of contracts 000 and 001 to arguments that they cannot
// read (contracts.md).
const invalidArguments = "Invalid tool arguments: "

func failure(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), IsError: true}
}

// namedSet is a value of --tools with its tools.
type namedSet struct {
	name  string
	tools func() []*Tool
}

var sets = []namedSet{
	{"runner", func() []*Tool { return []*Tool{runnerList(), getSkill(), runnerReadFile()} }},
	{"universal", func() []*Tool { return []*Tool{universalSkill()} }},
	{"wave", func() []*Tool { return []*Tool{waveSkill()} }},
	{"uri", func() []*Tool { return []*Tool{listByURI(), getByURI()} }},
	{"default", func() []*Tool { return []*Tool{defaultSkill(), defaultReadFile(), findSkills()} }},
}

// DefaultSet is served if no set was chosen.
const DefaultSet = "default"

// SetNames returns the names of the sets.
func SetNames() []string {
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.name
	}
	return names
}

// ParseSets reads a set or a comma list of sets. One contract twice counts once;
// two contracts with one tool name are refused.
func ParseSets(list string) ([]*Tool, error) { return joinSets(sets, list) }

func joinSets(table []namedSet, list string) ([]*Tool, error) {
	var tools []*Tool
	by := map[string]string{} // tool name → set
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		set, err := setNamed(table, name)
		if err != nil {
			return nil, err
		}
		var clash, with []*Tool
		for _, t := range set {
			other := find(tools, t.Name)
			switch {
			case other == nil:
				tools = append(tools, t)
				by[t.Name] = name
			case other.Contract != t.Contract:
				clash, with = append(clash, t), append(with, other)
			}
		}
		if len(clash) > 0 {
			return nil, clashError(by, name, clash, with)
		}
	}
	return tools, nil
}

// clashError names every tool that a set has in common with earlier sets.
func clashError(by map[string]string, name string, clash, with []*Tool) error {
	names, contracts := make([]string, len(clash)), make([]string, len(clash))
	for i, t := range clash {
		names[i], contracts[i] = t.Name, with[i].Contract+" and "+t.Contract
	}
	noun := "a tool"
	if len(clash) > 1 {
		noun = "tools"
	}
	return fmt.Errorf("the tool sets %s and %s both have %s called %s (contracts %s); serve them from two servers, each with one of the sets",
		by[clash[0].Name], name, noun, strings.Join(names, " and "), strings.Join(slices.Compact(contracts), ", "))
}

func setNamed(table []namedSet, name string) ([]*Tool, error) {
	for _, s := range table {
		if s.name == name {
			return s.tools(), nil
		}
	}
	return nil, fmt.Errorf("there is no tool set called '%s'; the sets are: %s", name, strings.Join(SetNames(), ", "))
}

func find(tools []*Tool, name string) *Tool {
	for _, t := range tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}
