package model

import (
	"fmt"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/display"
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

	keyless bool   // no key was sent
	what    string // what happened, of the categories that no status explains
}

// maxMessage is the largest number of characters of a message from an endpoint.
const maxMessage = 500

// maxListed is how many models an error lists.
const maxListed = 20

// Error says in one line what happened, where, and what to do.
func (e *Error) Error() string {
	host := display.Excerpt(e.Host)
	switch e.Category {
	case Auth:
		return e.told(host+e.auth(), "")
	case NotFound:
		return e.told(host+e.missing(), e.listed())
	case TooLong:
		return e.told(fmt.Sprintf("the conversation is too long for %s at %s%s", display.Quote(e.Model), host, e.sent()), "begin a new one")
	case Rate:
		return e.told(host+" has had too many requests", e.later())
	case Server:
		return e.told(host+" has failed", e.later())
	case Refused:
		return e.told(host+" does not accept the request", "")
	}
	return e.told(host+" "+e.what, "")
}

// told adds the status, the number of attempts, what the endpoint says, and what to do.
func (e *Error) told(what, advice string) string {
	var b strings.Builder
	b.WriteString(what)
	switch {
	case e.Status != 0 && e.Status != 200 && e.Tries > 1:
		fmt.Fprintf(&b, " (%d, %d times)", e.Status, e.Tries)
	case e.Status != 0 && e.Status != 200:
		fmt.Fprintf(&b, " (%d)", e.Status)
	case e.Tries > 1:
		fmt.Fprintf(&b, " (%d times)", e.Tries)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if advice != "" {
		b.WriteString("; " + advice)
	}
	return b.String()
}

func (e *Error) auth() string {
	switch {
	case e.keyless && e.KeyName != "":
		return " asks for a key, and " + e.KeyName + " is empty: set it"
	case e.keyless:
		return " asks for a key: name the environment variable or the file that has it"
	case e.KeyName != "":
		return " refuses the key of " + e.KeyName + ": look whether it is right, and may use this model"
	}
	return " refuses the key"
}

func (e *Error) missing() string {
	if e.Model == "" || e.Models == nil {
		return " has nothing at this address: look whether the URL is right; that of Chat Completions usually ends in /v1"
	}
	return " has no model " + display.Quote(e.Model)
}

// listed lists the models that there are.
func (e *Error) listed() string {
	if len(e.Models) == 0 {
		return ""
	}
	return "it has " + List(e.Models)
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

func (e *Error) sent() string {
	if e.Tokens == 0 {
		return ""
	}
	return fmt.Sprintf(": it has %s tokens", display.Thousands(e.Tokens))
}

func (e *Error) later() string {
	if e.Wait > 0 {
		return fmt.Sprintf("try again in %v", e.Wait.Round(time.Second))
	}
	return "try again later"
}
