package model

import (
	"errors"
	"net/http"
)

// messages is the wire of Anthropic's Messages (docs.claude.com/en/api/messages).
type messages struct{}

func (messages) paths() (turn, models string) { return "v1/messages", "v1/models" }

func (messages) authorize(h http.Header, key string) {
	h.Set("Anthropic-Version", "2023-06-01")
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}

func (messages) body(c *Client, r Request) (members, error) { return nil, errors.New("not yet") }

func (messages) reader(used map[string]bool, text func(string)) reader { return nil }
