// Package tool implements the contracts with a model, independent of a protocol: the name, the
// arguments and the exact answers of each tool.
//
// Contracts are served in sets, because two of them share a name and two differ only in case.
// [ParseSets] parses the name of a set. Each [Tool] then describes itself for a view of the
// catalogue, and answers calls.
//
// Each contract has its files: getskill.go (000), readfile.go and readpart.go (001), skill.go
// (002), wave.go (003), uri.go (004) and find.go (find_skills). Package lookup finds the skills,
// package profile lists the limits of clients, and package listing fits lists to them.
package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/lookup"
	"github.com/knack-dev/knack/tool/profile"
)

// Host contains the state that the tools of one server share.
type Host struct {
	lookup.Finder // finds the skills of the catalogue
	// Begin, if set, is called with every call before the answer. Its event has no result yet.
	// Observe, if set, is called with every call and its result after the answer. Both are called
	// in the goroutine of the call, possibly concurrently.
	Begin, Observe func(Event)
}

// NewHost returns a host for the skills of a catalogue.
func NewHost(c *catalog.Catalog) *Host { return &Host{Finder: lookup.Finder{Catalog: c}} }

// Tool is one tool of a set, as its contract defines it.
type Tool struct {
	Contract    string // "002"
	Name, Title string
	Schema      json.RawMessage // of the arguments, as JSON Schema
	// Brief is the description in a function definition. It is empty if the contract has no
	// separate one.
	Brief string
	// Meta is the tool's _meta in tools/list, for the clients that read it; usually nil.
	Meta map[string]any

	describe func(v catalog.View, c profile.Client) string
	// arranged returns the arrangement of the list of skills in the description; nil without a
	// list.
	arranged func(v catalog.View, c profile.Client) listing.Arrangement
	// lay distributes the list over the description and the instructions. It is nil if the set's
	// contract requires a separate list in each.
	lay func(v catalog.View, c profile.Client) laid
	// around is the length of the fixed words around the list.
	around int
	call   func(ctx context.Context, h *Host, args arguments) (Result, error)
	// malformed answers a call whose arguments are not one JSON object, or contain forbidden keys,
	// in the contract's words. It is nil if the contract has no such words.
	malformed func(ctx context.Context, h *Host, err error) (Result, error)
	keys      []string // the allowed keys, in order; nil if unknown keys are ignored
	aliases   []string // further allowed keys, which no message names
	// skillKeys and fileKeys are the keys of the arguments that name a skill and a file in it. If a
	// call has several, the first key counts. A tool without skillKeys has no argument for a skill.
	skillKeys, fileKeys []string
}

// Keys of a tool's _meta that Claude Code reads (code.claude.com/docs/en/mcp; in the program
// 2.1.197 and 2.1.330). alwaysLoadKey puts the tool into the prompt from the start. Up to
// resultSizeKey characters, a result is shown, and not replaced by the name of a file.
const (
	alwaysLoadKey = "anthropic/alwaysLoad"
	resultSizeKey = "anthropic/maxResultSizeChars"
)

// Definition describes a tool to a client.
type Definition struct {
	Name, Title, Description string
	Schema                   json.RawMessage
	Meta                     map[string]any // see [Tool.Meta]
}

// Define describes the tool to a client. Every tool is read-only and idempotent, and works in a
// closed world, in the sense of MCP's tool annotations.
func (t *Tool) Define(v catalog.View, c profile.Client) Definition {
	return Definition{Name: t.Name, Title: t.Title, Description: t.describe(v, c), Schema: t.Schema, Meta: t.Meta}
}

// MetaIncomplete is the key under _meta in an answer that lacks skills, because some were not read
// yet. Its value is a sentence about them.
const MetaIncomplete = "knack.dev/incomplete"

// incompleteMeta returns the _meta of an answer from a view, nil if the view is complete.
func incompleteMeta(v catalog.View) map[string]any {
	if lacks := v.Incomplete(); lacks != nil {
		return map[string]any{MetaIncomplete: lacks.Error()}
	}
	return nil
}

// Result is an answer. Text is for the model. Object contains the same as a JSON object, if the
// contract defines one.
type Result struct {
	Text    string
	Object  any
	IsError bool
	// Absent is set if no skill has the name. Contract 002 does not call that an error, so IsError
	// need not be set.
	Absent bool
	// WritesIsError is set if the contract requires isError in a success too.
	WritesIsError bool
	// Meta contains data beyond the contract's fields. It is usually nil.
	Meta map[string]any
}

// Object is an object of a [Result] that may be long. Its fields can be written one by one, without
// a copy of the object. A value is a string, a bool or an int64.
type Object interface {
	Fields() iter.Seq2[string, any]
}

func marshal(o Object) []byte {
	return rawjson.Bytes(func(e *rawjson.Encoder) { e.Object(o.Fields()) })
}

// answer is [Tool.Call] without the observer.
func (t *Tool) answer(ctx context.Context, h *Host, args json.RawMessage) (Result, error) {
	a, err := parseArguments(args, t.keys, t.aliases...)
	switch {
	case err != nil && t.malformed != nil:
		return t.malformed(ctx, h, err)
	case err != nil:
		return failure("Invalid arguments for tool %s: %s", t.Name, err), nil
	}
	return t.call(ctx, h, a)
}

// invalidArguments begins the answers of contracts 000 and 001 to arguments that cannot be
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

// DefaultSet is the set that is served if none is chosen.
const DefaultSet = "default"

// SetNames returns the names of the sets.
func SetNames() []string {
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.name
	}
	return names
}

// ParseSets parses the name of a set, or several separated by commas. A contract that occurs twice
// counts once. Two contracts whose tools have the same name are an error.
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

// clashError names every tool that a set and earlier sets have in common.
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
	return nil, fmt.Errorf("there is no tool set called '%s'; the sets are: %s", display.Echo(name), strings.Join(SetNames(), ", "))
}

func find(tools []*Tool, name string) *Tool {
	for _, t := range tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}
