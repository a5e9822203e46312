package model

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"sync"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/internal/base/rawjson"
)

// dropped has the names of optional request members that the endpoint refused. Further requests
// omit them: stream_options, which many servers do not know; max_tokens, which newer models
// replace by max_completion_tokens; and members of assistants' messages that an endpoint sends
// but does not accept, as Groq does with reasoning.
type dropped struct {
	mu    sync.Mutex
	names []string
}

var (
	unwanted = lazyregexp.New(`(?i)unsupported|not supported|not permitted|not allowed|unknown|unrecognized|unexpected|forbidden`)
	// needed lists the members of a message that no endpoint can do without.
	needed = []string{"role", "content", "tool_calls"}
)

func (d *dropped) has(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.names, name)
}

func (d *dropped) list() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.names)
}

// drop reports whether an error names a member of the request's body that the next attempt can
// omit.
func (c *Client) drop(e *Error, body []byte) bool {
	said := e.body
	e.body = ""
	if c.endpoint.Wire != OpenAI || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	b := object(body)
	for _, name := range []string{"stream_options", "max_tokens"} {
		if b[name] == nil || c.endpoint.Extra[name] != nil || !mentions(said, name) {
			continue
		}
		if name == "stream_options" || mentions(said, "max_completion_tokens") {
			return c.dropped.add(name)
		}
	}
	if !unwanted().MatchString(said) {
		return false
	}
	for _, raw := range list(b["messages"]) {
		m := object(raw)
		if text(m["role"]) != string(Assistant) {
			continue
		}
		for name := range m {
			if !slices.Contains(needed, name) && mentions(said, name) {
				return c.dropped.add(name)
			}
		}
	}
	return false
}

// add adds a member's name. It reports true even if a concurrent request has already added it.
func (d *dropped) add(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.names, name) {
		d.names = append(d.names, name)
	}
	return true
}

// mentions reports whether a string has a name as a word.
func mentions(s, name string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(s)
}

// without returns a message without the named members.
func without(raw json.RawMessage, names []string) json.RawMessage {
	if len(names) == 0 {
		return raw
	}
	m := object(raw)
	for _, name := range names {
		if !slices.Contains(needed, name) {
			delete(m, name)
		}
	}
	if encoded, err := rawjson.Marshal(m); err == nil {
		return encoded
	}
	return raw
}
