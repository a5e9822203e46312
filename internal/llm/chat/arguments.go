package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// maxDepth bounds the nesting of arguments.
const maxDepth = 200

// objectOf returns a call's arguments in the form that is shown to the user and sent: one JSON
// object without white space. Arguments that two programs could read differently, such as duplicate
// keys, are an error.
func objectOf(arguments json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(arguments))
	dec.UseNumber()
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("they must be one JSON object")
	}
	object, err := members(dec, 1, nil)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("they must be one JSON object")
	}
	return object, nil
}

// members reads the rest of an object and appends the object to b.
func members(dec *json.Decoder, depth int, b []byte) ([]byte, error) {
	b = append(b, '{')
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		name, _ := token.(string) // a key is a string
		if seen[name] {
			return nil, fmt.Errorf("they have the key %s twice", strconv.QuoteToASCII(display.Prefix(name, 100)))
		}
		if len(seen) > 0 {
			b = append(b, ',')
		}
		seen[name] = true
		if b, err = value(dec, depth, append(display.AppendJSONString(b, name), ':')); err != nil {
			return nil, err
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, notJSON(err)
	}
	return append(b, '}'), nil
}

// value reads a value and appends it to b.
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
			return members(dec, depth+1, b)
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

func notJSON(err error) error { return fmt.Errorf("they are not JSON: %w", err) }

var plainName = lazyregexp.New(`^[A-Za-z0-9_.-]+$`)

// nameShown returns the name of an argument. It quotes a name with unusual characters, which could
// otherwise look like further arguments.
func nameShown(name string) string {
	if plainName().MatchString(name) {
		return name
	}
	return string(display.AppendVisibleJSON(nil, display.AppendJSONString(nil, name)))
}
