// Package tool holds the model-facing contracts, free of any wire: what each
// tool is called, what it takes, and what it answers, word for word.
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
	"strings"

	"github.com/knack-dev/knack/catalog"
)

// Host is what the tools of one server share.
type Host struct {
	Catalog *catalog.Catalog
	// Remote: the model is on another machine, so a folder is named by its URI.
	Remote bool
	// Observe, where set, sees every call with its result after it was answered,
	// from the goroutine of the call: several at once where calls are.
	Observe func(Event)
	// Engage, where set, is the text of skill://engage/SKILL.md where no skill
	// that models may read has this URI or name: contract 004 has it always
	// answer. It is called at each such read.
	Engage func() string

	served memo
	rescan rescan
}

// Tool is one contract as a set serves it.
type Tool struct {
	Contract    string // "002"
	Name, Title string
	Schema      json.RawMessage // of the arguments, as JSON Schema
	// Brief is the description in a function definition, where the contract has
	// another one for that than for MCP; else empty.
	Brief string
	// Meta is what tools/list says of the tool under _meta, for the clients that read
	// it; mostly nil.
	Meta map[string]any

	describe func(v catalog.View, c Client) string
	// arranged is how the description has the list of skills; nil if it has no list.
	arranged func(v catalog.View, c Client) arranged
	call     func(ctx context.Context, h *Host, args arguments) (Result, error)
	// malformed answers a call without one JSON object of arguments, or with keys
	// that are not allowed, in the contract's words; nil where it has none.
	malformed func(ctx context.Context, h *Host, err error) (Result, error)
	strict    []string // the only keys allowed, in order; nil if unknown keys are ignored
	also      []string // keys that are allowed beside strict, and that no message names
}

// Definition is what a client is told of a tool.
type Definition struct {
	Name, Title, Description string
	Schema                   json.RawMessage
	Meta                     map[string]any // see [Tool.Meta]
}

// Define describes the tool. Every tool is read-only, idempotent and closed.
func (t *Tool) Define(v catalog.View, c Client) Definition {
	return Definition{Name: t.Name, Title: t.Title, Description: t.describe(v, c), Schema: t.Schema, Meta: t.Meta}
}

// Result is an answer. Text is what the model reads; Object is the same as a
// JSON object where the contract defines one.
type Result struct {
	Text    string
	Object  any
	IsError bool
	// Absent: there is no skill of that name to answer with. Contract 002 calls that
	// no error, so that IsError does not say.
	Absent bool
	// Meta is what the answer says beside its contract's fields; mostly nil.
	Meta map[string]any
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

// invalidArguments begins what contracts 000 and 001 say of arguments that they
// cannot read: the words that contracts.md has for them.
const invalidArguments = "Invalid tool arguments: "

func failure(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), IsError: true}
}

// namedSet is a name that --tools takes, with what it serves.
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

// DefaultSet is served where nobody chose.
const DefaultSet = "default"

// SetNames lists the sets.
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

// clashError names every tool that a set shares with the sets before it.
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
