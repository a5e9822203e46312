package model

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
)

// Category is the kind of failure of an [Error].
type Category string

// The categories.
const (
	Auth     Category = "auth"      // the key is missing, wrong, or may not do this
	NotFound Category = "not found" // no such model or address
	TooLong  Category = "too long"  // the conversation has more tokens than the model accepts
	Rate     Category = "rate"      // too many requests, or a quota is used up
	Server   Category = "server"    // the endpoint has failed
	Refused  Category = "refused"   // the endpoint does not accept the request
	Network  Category = "network"   // the endpoint is unreachable, broke off, or is silent
	Shape    Category = "shape"     // the response is not a model's answer
)

// Error is the reason why there is no answer. Its texts never contain the key or parts of
// the request.
type Error struct {
	Category Category
	// Status is the status of the response, or 0 without one.
	Status int
	// Host is the requested host, with its port.
	Host string
	// Model is the requested model, or "".
	Model string
	// KeyName is the endpoint's [Endpoint.KeyName].
	KeyName string
	// Message is the endpoint's message, one line of at most 500 characters, or "".
	Message string
	// Tokens is the number of tokens sent, if a TooLong error states it; else 0.
	Tokens int
	// Models lists the endpoint's models in a NotFound error, if it lists them.
	Models []string
	// Wait is the time that the endpoint asks to wait, or 0.
	Wait time.Duration
	// Tries is the number of requests made.
	Tries int

	what    string // replaces the text that follows from category and status
	keyless bool   // no key was sent
	again   bool   // another attempt may succeed, and no part of an answer has come
	body    string // the response body, without secrets
}

const (
	// maxMessage bounds a message from an endpoint, in characters.
	maxMessage = 500
	// maxListed bounds the models that an error lists.
	maxListed = 20
)

// fail returns an error about the endpoint. what is the predicate after the host's name.
func (c *Client) fail(category Category, what string) *Error {
	return &Error{Category: category, Host: c.base.Host, KeyName: c.endpoint.KeyName, keyless: c.keyless, what: what}
}

// Error returns one line with the failure, the host and a fix.
func (e *Error) Error() string {
	what, advice := e.what, ""
	switch e.Category {
	case Auth:
		what = cmp.Or(what, e.auth())
	case NotFound:
		what = cmp.Or(what, e.missing())
		if len(e.Models) > 0 {
			advice = "it has " + List(e.Models)
		}
	case TooLong:
		what, advice = e.long(), "begin a new conversation"
	case Rate:
		what, advice = cmp.Or(what, "has had too many requests"), e.later()
	case Server:
		what, advice = cmp.Or(what, "has failed"), e.later()
	case Refused:
		what = cmp.Or(what, "does not accept the request")
	}
	var b strings.Builder
	b.WriteString(display.OneLine(e.Host) + " " + what)
	switch failed := e.Status != 0 && e.Status/100 != 2; {
	case failed && e.Tries > 1:
		fmt.Fprintf(&b, " (%d, %d times)", e.Status, e.Tries)
	case failed:
		fmt.Fprintf(&b, " (%d)", e.Status)
	case e.Tries > 1:
		fmt.Fprintf(&b, " (%d times)", e.Tries)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if advice != "" && strings.HasSuffix(e.Message, ".") {
		b.WriteString(" " + strings.ToUpper(advice[:1]) + advice[1:] + ".")
	} else if advice != "" {
		b.WriteString("; " + advice)
	}
	return b.String()
}

func (e *Error) auth() string {
	switch {
	case e.keyless && e.KeyName != "":
		return "asks for a key, and " + e.KeyName + " has none: set it"
	case e.keyless:
		return "asks for a key: name the variable or the file that has one"
	case e.KeyName != "":
		return "refuses the key in " + e.KeyName + ": check that it is complete, and may use this model"
	}
	return "refuses the key"
}

func (e *Error) missing() string {
	if e.Models == nil {
		return "has no such model, or nothing at this address: look whether the URL is right; a URL of Chat Completions usually ends in /v1"
	}
	return "has no model " + display.Quote(e.Model)
}

func (e *Error) long() string {
	tokens := ""
	if e.Tokens > 0 {
		tokens = " of " + display.Thousands(e.Tokens) + " tokens"
	}
	return "does not take a conversation" + tokens + " with the model " + display.Quote(e.Model)
}

func (e *Error) later() string {
	if e.Wait > 0 {
		return fmt.Sprintf("it asks to wait %v", e.Wait.Round(time.Second))
	}
	return "try again later"
}

// List names the first 20 models in one line, and counts the rest.
func List(models []string) string {
	var names []string
	for _, name := range models[:min(len(models), maxListed)] {
		names = append(names, display.Echo(name))
	}
	list := strings.Join(names, ", ")
	if more := len(models) - maxListed; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
