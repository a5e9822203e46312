package main

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestEachCallIsAnother checks that each call is for a different skill, and has its own id and
// metadata. No agent makes equal calls, which a cache would answer.
func TestEachCallIsAnother(t *testing.T) {
	for _, method := range []string{"tools/call", "resources/read", "skills/get", "built-in"} {
		c := &client{all: []target{{Name: "a", URI: "skill://a/SKILL.md"}, {Name: "b", URI: "skill://b/SKILL.md"}}}
		seen := map[string]bool{}
		for range 2 {
			body, _ := c.ask(method, legacy, "")
			var r struct {
				ID     json.RawMessage
				Params struct {
					URI       string
					Arguments struct{ Name string }
					Meta      map[string]any `json:"_meta"`
				}
			}
			if err := json.Unmarshal(body, &r); err != nil {
				t.Fatal(err)
			}
			for what, v := range map[string]string{"id": string(r.ID), "skill": r.Params.URI + r.Params.Arguments.Name,
				"tool-use id": fmt.Sprint(r.Params.Meta["claudecode/toolUseId"]), "progress token": fmt.Sprint(r.Params.Meta["progressToken"])} {
				if v == "" || v == "<nil>" || seen[what+v] {
					t.Errorf("%s: the %s %q again, or none: %s", method, what, v, body)
				}
				seen[what+v] = true
			}
		}
	}
}
