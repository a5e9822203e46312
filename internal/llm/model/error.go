package model

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
)

// Category says what kind of failure an [Error] is.
type Category string

// The categories.
const (
	Auth     Category = "auth"      // the key is missing, wrong, or may not do this
	NotFound Category = "not found" // there is no such model, or no such address
	TooLong  Category = "too long"  // the conversation has more tokens than the model takes
	Rate     Category = "rate"      // too many requests, or a quota is used up
	Server   Category = "server"    // the endpoint has failed
	Refused  Category = "refused"   // the endpoint does not accept the request
	Network  Category = "network"   // the endpoint cannot be reached, broke off, or is silent
	Shape    Category = "shape"     // what came is no answer of a model
)

// Error says why there is no answer. Its texts have no key and nothing of the request in them.
type Error struct {
	Category Category
	// Status is the status of the response, or 0 if none came.
	Status int
	// Host is the host that was asked, with its port.
	Host string
	// Model is the model that was asked for, or "".
	Model string
	// KeyName is that of the endpoint.
	KeyName string
	// Message is what the endpoint says, in one line of at most 500 characters, or "".
	Message string
	// Tokens is how many tokens were sent, if the endpoint says so in a TooLong; else 0.
	Tokens int
	// Models are the models that the endpoint has, in a NotFound, if it lists them.
	Models []string
	// Wait is how long the endpoint asks to wait, or 0.
	Wait time.Duration
	// Tries is how often the endpoint was asked.
	Tries int

	what    string // what the host does, if that is not to be told by category and status
	keyless bool   // no key was sent
	again   bool   // another attempt may succeed, and nothing of an answer has come
	body    string // what came, without secrets
}

const (
	// maxMessage is the largest number of characters of a message from an endpoint.
	maxMessage = 500
	// maxListed is how many models an error lists.
	maxListed = 20
)

// fail returns an error about the endpoint. what follows the host's name.
func (c *Client) fail(category Category, what string) *Error {
	return &Error{Category: category, Host: c.base.Host, KeyName: c.endpoint.KeyName, keyless: c.keyless, what: what}
}

// Error says in one line what happened, where, and what to do.
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
		return "refuses the key in " + e.KeyName + ": look whether it is whole, and may use this model"
	}
	return "refuses the key"
}

func (e *Error) missing() string {
	if e.Models == nil {
		return "has no such model, or nothing at this address: look whether the URL is right; that of Chat Completions usually ends in /v1"
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
