package jsonfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
)

// Unmarshal is [json.Unmarshal] for JSON that decides about trust. Names must match in case, and no
// object may contain a name twice. encoding/json accepts EXP for exp, and uses the last of two
// members with one name. So another program could read a different value under the same signature.
func Unmarshal(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil { // json.Unmarshal bounds the depth
		return err
	}
	return exact(json.NewDecoder(bytes.NewReader(data)), reflect.TypeOf(v).Elem())
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// exact checks a value that is decoded into type t. t is nil if any names are allowed.
func exact(d *json.Decoder, t reflect.Type) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && (t.Kind() == reflect.Interface || t.Implements(unmarshaler) || reflect.PointerTo(t).Implements(unmarshaler)) {
		t = nil
	}
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('['):
		var elem reflect.Type
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			elem = t.Elem()
		}
		for d.More() {
			if err := exact(d, elem); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		if err := exactMembers(d, t); err != nil {
			return err
		}
	default:
		return nil
	}
	_, err = d.Token() // the end
	return err
}

func exactMembers(d *json.Decoder, t reflect.Type) error {
	var fields map[string]reflect.Type
	if t != nil && t.Kind() == reflect.Struct {
		fields = fieldsOf(t)
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return errors.New("a member has no name")
		}
		if t != nil && seen[name] {
			return fmt.Errorf("the name %s is there twice", display.Quote(name))
		}
		seen[name] = true
		memberType, known := fields[name]
		if t != nil && t.Kind() == reflect.Map {
			memberType = t.Elem()
		}
		if !known {
			for field := range fields {
				if strings.EqualFold(field, name) {
					return fmt.Errorf("the name %s is not written as %s", display.Quote(name), field)
				}
			}
		}
		if err := exact(d, memberType); err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf returns the fields of a struct by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		fields[name] = f.Type
	}
	return fields
}
