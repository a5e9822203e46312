package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/tool/lookup"
)

// arguments maps the keys of a call's arguments to their values.
type arguments map[string]json.RawMessage

// errNoObject is returned for arguments that are not a JSON object.
var errNoObject = errors.New("they must be one JSON object")

// parseArguments parses a JSON object. Missing arguments count as an empty object. If keys are
// given, every other key that is not an alias is an error. The error does not repeat the value of
// the key.
func parseArguments(data json.RawMessage, keys []string, aliases ...string) (arguments, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || string(data) == "null" {
		return arguments{}, nil
	}
	if data[0] != '{' {
		return nil, errNoObject
	}
	a := arguments{}
	if json.Unmarshal(data, &a) != nil {
		// A Decoder reads only one value. So it tells a fault in the object from text after the
		// object. It is slower than Unmarshal.
		if json.NewDecoder(bytes.NewReader(data)).Decode(&a) == nil {
			return nil, errors.New("text follows the JSON object")
		}
		return nil, errors.New("they are not valid JSON")
	}
	if keys != nil {
		if err := a.onlyKeys(keys, aliases...); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a arguments) onlyKeys(allowed []string, aliases ...string) error {
	var unknown []string
	for k := range a {
		if !slices.Contains(allowed, k) && !slices.Contains(aliases, k) {
			unknown = append(unknown, k)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	quoted := slices.Clone(unknown[:min(len(unknown), 5)]) // there may be a million keys
	for i, k := range quoted {
		quoted[i] = "'" + display.Excerpt(display.RedactURI(k)) + "'"
	}
	keys := "key"
	if len(unknown) > 1 {
		keys = "keys"
	}
	known := "the only one is"
	if len(allowed) > 1 {
		known = "the keys are"
	}
	return fmt.Errorf("unrecognized %s %s; %s '%s'", keys, strings.Join(quoted, ", "), known, strings.Join(allowed, "', '"))
}

// text returns a string argument. given is false if the argument is missing or null.
func (a arguments) text(key string) (s string, given bool, err error) {
	raw, ok := a[key]
	if !ok || string(raw) == "null" {
		return "", false, nil
	}
	if json.Unmarshal(raw, &s) != nil {
		return "", true, fmt.Errorf("'%s' must be a string", key)
	}
	return s, true, nil
}

// name returns a string argument for a lookup: a name, a path or a URI. It bounds the length before
// decoding; see [lookup.Bounded].
func (a arguments) name(key string) (s string, given bool, err error) {
	if raw := lookup.BoundedJSON(a[key]); len(raw) < len(a[key]) {
		a = arguments{key: raw}
	}
	s, given, err = a.text(key)
	return lookup.Bounded(s), given, err
}

// first returns the first non-empty argument among the given keys, and the first error.
func (a arguments) first(keys []string) (value string, err error) {
	for _, key := range keys {
		text, _, bad := a.name(key)
		value, err = cmp.Or(value, text), cmp.Or(err, bad)
	}
	return value, err
}

// number returns an integer argument between low and high, or the default if it is missing
// or null.
func (a arguments) number(key string, low, high, def int) (int, error) {
	raw, ok := a[key]
	if !ok || string(raw) == "null" {
		return def, nil
	}
	var f float64
	if json.Unmarshal(raw, &f) != nil || f != float64(int(f)) || f < float64(low) || f > float64(high) {
		return 0, fmt.Errorf("'%s' must be a whole number from %d to %d", key, low, high)
	}
	return int(f), nil
}

// lenientNumber is [arguments.number] for the default set. It accepts a number in quotes too.
func (a arguments) lenientNumber(key string, low, high, def int) (int, error) {
	var s string
	if json.Unmarshal(a[key], &s) == nil {
		if _, err := strconv.Atoi(strings.TrimSpace(s)); err == nil {
			a = arguments{key: json.RawMessage(strings.TrimSpace(s))}
		}
	}
	return a.number(key, low, high, def)
}
