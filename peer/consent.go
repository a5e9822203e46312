package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/internal/lazyregexp"
)

// NotAllowed is what a model gets in place of the result of a call that was not allowed.
const NotAllowed = "The user has not allowed this tool."

// Decision says whether a call was allowed, and how.
type Decision string

// The decisions.
const (
	AllowedByPattern Decision = "pattern" // one of the patterns fits its name
	AllowedOnce      Decision = "yes"
	AllowedAlways    Decision = "always" // now, or by an earlier answer
	Refused          Decision = "no"
	Unasked          Decision = "unasked" // refused, since there is no one to ask
)

// Allowed reports whether the call may be made.
func (d Decision) Allowed() bool { return d != Refused && d != Unasked }

// Consent decides which calls are made. A server has no say: what it claims about a tool, such as
// that it only reads, allows nothing.
type Consent struct {
	// Allow are the patterns of tools whose calls need no question. See [ParsePattern].
	Allow []Pattern
	// Ask asks the user a question of one line and returns the answer. Nil refuses each call that
	// no pattern allows. An error ends the question.
	Ask func(ctx context.Context, question string) (answer string, err error)

	always map[string]bool
}

// Pattern is a name of a tool for a model, in which "*" stands for any text.
type Pattern string

var aPattern = lazyregexp.New(`^[A-Za-z0-9_*-]{1,64}$`)

// ParsePattern reads a pattern such as "files__read_*".
func ParsePattern(text string) (Pattern, error) {
	if !aPattern().MatchString(text) {
		return "", fmt.Errorf("%s is no pattern of tools: write a name such as files__read_file, with * for any text", display.Quote(text))
	}
	return Pattern(text), nil
}

// Fits reports whether a tool with this name needs no question.
func (p Pattern) Fits(name string) bool {
	ok, err := path.Match(string(p), name) // names have no slash
	return ok && err == nil
}

// Invocation is a call that a model wants, with the arguments as they are shown and sent.
type Invocation struct {
	Tool      Tool
	Arguments json.RawMessage
	shown     string
}

// errArguments is the category of arguments that are not called with.
var errArguments = errors.New("invalid tool arguments")

// Invoke reads the arguments of a call. What is sent is what a question shows: arguments that two
// programs could read differently, as those with a key twice, are an error for the model.
func Invoke(t Tool, arguments json.RawMessage) (Invocation, error) {
	call := Invocation{Tool: t}
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = []byte("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(arguments))
	dec.UseNumber()
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return call, fmt.Errorf("%w: they are no JSON object", errArguments)
	}
	var parts []string
	sent, err := object(dec, func(name string, value []byte) {
		parts = append(parts, nameShown(name)+"="+string(display.AppendVisibleJSON(nil, value)))
	})
	if err == nil {
		if _, after := dec.Token(); !errors.Is(after, io.EOF) {
			err = errors.New("something follows the object")
		}
	}
	if err != nil {
		return call, fmt.Errorf("%w: %w", errArguments, err)
	}
	call.Arguments, call.shown = sent, strings.Join(parts, ", ")
	return call, nil
}

var plainName = lazyregexp.New(`^[A-Za-z0-9_.-]+$`)

// nameShown returns the name of an argument: in quotes, unless it is plain.
func nameShown(name string) string {
	if plainName().MatchString(name) {
		return name
	}
	return string(display.AppendVisibleJSON(nil, display.AppendJSONString(nil, name)))
}

// maxDepth bounds how deep arguments may be nested.
const maxDepth = 200

// object reads the rest of an object and returns it as JSON. visit, if set, gets its members.
func object(dec *json.Decoder, visit func(name string, value []byte)) ([]byte, error) {
	return members(dec, 1, visit)
}

func members(dec *json.Decoder, depth int, visit func(string, []byte)) ([]byte, error) {
	b, seen := []byte{'{'}, map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		name, _ := token.(string) // keys are strings
		if seen[name] {
			return nil, fmt.Errorf("the key %s occurs twice", strconv.QuoteToASCII(display.CutBytes(name, 100)))
		}
		if len(seen) > 0 {
			b = append(b, ',')
		}
		seen[name] = true
		b = append(display.AppendJSONString(b, name), ':')
		from := len(b)
		if b, err = value(dec, depth, b); err != nil {
			return nil, err
		}
		if visit != nil {
			visit(name, b[from:])
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, notJSON(err)
	}
	return append(b, '}'), nil
}

// value reads a value, and appends it as JSON.
func value(dec *json.Decoder, depth int, b []byte) ([]byte, error) {
	if depth > maxDepth {
		return nil, errors.New("they are nested too deep")
	}
	token, err := dec.Token()
	if err != nil {
		return nil, notJSON(err)
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			inner, err := members(dec, depth+1, nil)
			return append(b, inner...), err
		}
		b = append(b, '[')
		for first := true; dec.More(); first = false {
			if !first {
				b = append(b, ',')
			}
			if b, err = value(dec, depth+1, b); err != nil {
				return nil, err
			}
		}
		if _, err := dec.Token(); err != nil {
			return nil, notJSON(err)
		}
		return append(b, ']'), nil
	case string:
		return display.AppendJSONString(b, t), nil
	case json.Number:
		return append(b, t...), nil
	case bool:
		return strconv.AppendBool(b, t), nil
	}
	return append(b, "null"...), nil
}

func notJSON(err error) error { return fmt.Errorf("they are no JSON: %w", err) }

// String returns the call in one line, with all its arguments: files__write(path="a.txt"). No
// argument can look like the end of the call or steer a terminal.
func (i Invocation) String() string { return i.Tool.Name + "(" + i.shown + ")" }

// longCall is the number of characters from which a question names the tool again, since its
// beginning may be out of sight.
const longCall = 500

// question asks whether a call may be made.
func (i Invocation) question() string {
	again := ""
	if n := utf8.RuneCountInString(i.shown); n > longCall {
		again = fmt.Sprintf(" This is a call of %s with %s characters of arguments.", i.Tool.Name, display.Thousands(n))
	}
	return "Allow " + i.String() + "?" + again + " [y]es, [a]lways this tool, [n]o "
}

// maxAsked questions are asked about one call, if the answers are not understood.
const maxQuestions = 3

// Decide says whether a call may be made. An answer "always" holds for this tool alone. The error
// is that of Ask.
func (c *Consent) Decide(ctx context.Context, call Invocation) (Decision, error) {
	name := call.Tool.Name
	for _, p := range c.Allow {
		if p.Fits(name) {
			return AllowedByPattern, nil
		}
	}
	switch {
	case c.always[name]:
		return AllowedAlways, nil
	case c.Ask == nil:
		return Unasked, nil
	}
	for range maxQuestions {
		answer, err := c.Ask(ctx, call.question())
		if err != nil {
			return Refused, err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return AllowedOnce, nil
		case "a", "always":
			if c.always == nil {
				c.always = map[string]bool{}
			}
			c.always[name] = true
			return AllowedAlways, nil
		case "n", "no", "":
			return Refused, nil
		}
	}
	return Refused, nil
}
