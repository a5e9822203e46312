package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// skillFields lists the JSON properties of a skill in a list, in the order of [apiSkillItem].
var skillFields = fieldsIn(reflect.TypeFor[apiSkillItem]())

// indexFields are the properties of a skill in the discovery index.
var indexFields = []string{"name", "type", "description", "url", "digest"}

func fieldsIn(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// fieldsAsked returns the properties that a query requests, in the order of known, or nil for all.
func fieldsAsked(q url.Values, known []string) (fields []string, err error) {
	if !q.Has("fields") {
		return nil, nil
	}
	asked := strings.Split(q.Get("fields"), ",")
	for _, name := range asked {
		if !slices.Contains(known, name) {
			return nil, problem(http.StatusBadRequest, "fields must be names with commas between them, out of "+strings.Join(known, ", ")+".")
		}
	}
	for _, name := range known {
		if slices.Contains(asked, name) {
			fields = append(fields, name)
		}
	}
	return fields, nil
}

// sparse returns an item with only the given properties.
func sparse(item apiSkillItem, fields []string) (map[string]json.RawMessage, error) {
	data, err := json.Marshal(item)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	for name := range all {
		if !slices.Contains(fields, name) {
			delete(all, name)
		}
	}
	return all, nil
}
