package cli

import (
	"fmt"
	"strings"

	"github.com/knack-dev/knack/client"
	"github.com/knack-dev/knack/internal/console"
)

// refused is the state of an entry that knack cannot read or write.
const refused client.State = "refused"

// connection is the JSON form of connect.
type connection struct {
	Client  string       `json:"client"`
	Name    string       `json:"name"`
	Here    bool         `json:"here"`
	File    string       `json:"file,omitempty"`
	Scope   client.Scope `json:"scope,omitempty"`
	Key     string       `json:"key,omitempty"` // where the entry is in the file
	State   client.State `json:"state"`         // or refused
	Why     string       `json:"why,omitempty"`
	Command []string     `json:"command,omitempty"` // what the existing entry starts
	URL     string       `json:"url,omitempty"`     // the URL that it names
	Missing bool         `json:"missing,omitempty"` // it names a program that is in no folder of PATH
	Suspect string       `json:"suspect,omitempty"` // why what it starts is not known to be knack
	Off     bool         `json:"off,omitempty"`     // it is turned off
	// First is the entry that the client uses instead of this one.
	First     *connection    `json:"first,omitempty"`
	Changes   []changedField `json:"changes,omitempty"` // what --write changes in it, or has changed
	Entry     string         `json:"entry,omitempty"`
	Written   bool           `json:"written,omitempty"`
	Backup    string         `json:"backup,omitempty"`
	entryName string         // the entry's name
}

type changedField struct {
	Key string `json:"key"`
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

func connectionOf(ch client.Change) connection {
	out := connection{
		entryName: ch.Name, File: ch.File, Scope: ch.Scope, Key: ch.Key, State: ch.State,
		Command: ch.Command, URL: ch.URL, Suspect: ch.Suspicion, Off: ch.Off != "" || ch.ListFile != "",
	}
	for _, d := range ch.Differences {
		out.Changes = append(out.Changes, changedField(d))
	}
	return out
}

// status says how a client is connected, and in which file.
func (c connection) status(env console.Env) string {
	if c.First != nil && c.State != refused {
		return c.First.status(env)
	}
	file := atHome(env, c.File)
	switch c.State {
	case client.Connected, client.Outdated:
		if c.Missing {
			return fmt.Sprintf("not connected: it %s, which no folder of PATH has (%s)", c.target(), file)
		}
		is := "connected"
		if c.Off {
			is = "turned off"
		}
		if c.State == client.Outdated {
			how := "--write"
			if c.Scope == client.Project {
				how = "--scope project --write"
			}
			is += ", and " + how + " would update it"
		}
		return fmt.Sprintf("%s: %s (%s)", is, c.target(), file)
	case client.Foreign:
		return fmt.Sprintf("not connected: its server called knack %s (%s)", c.target(), file)
	case refused:
		if file == "" {
			return "cannot be connected: " + c.Why
		}
		return fmt.Sprintf("cannot be connected: %s: %s", file, c.Why)
	}
	return fmt.Sprintf("not connected (%s)", file)
}

// target says what the entry starts or leads to, for whom, and its name if that is not knack.
func (c connection) target() string {
	out := "leads to " + c.URL
	if len(c.Command) > 0 {
		out = "starts " + c.Command[0]
	}
	if dirs := values(c.Command, "--dir"); len(dirs) > 0 && c.State != client.Foreign {
		out += ", which serves " + strings.Join(dirs, " and ") + " alone"
	}
	if name := c.entryName; name != "" && name != client.Name {
		out += ", is called " + name
	}
	if c.Suspect != "" {
		out += " (" + c.Suspect + ")"
	}
	switch c.Scope {
	case client.Project:
		out += ", in this project"
	case client.Local:
		out += ", in this project, for you alone"
	}
	return out
}

// precedence says which entry the client uses instead of this one.
func (c connection) precedence(env console.Env, cl client.Client) string {
	what, file := "its entry", atHome(env, c.First.File)
	if c.First.State == client.Foreign {
		what = "its server called knack"
	}
	if cl.NeedsApproval && c.First.Scope == client.Project {
		return fmt.Sprintf("In this project %s has one of this name too: %s %s. %s calls different ones conflicting scopes, and uses %s until you approve the project's, then that one.",
			file, what, c.First.target(), cl.Name, atHome(env, c.File))
	}
	return fmt.Sprintf("In this project %s comes first: %s %s", file, what, c.First.target())
}

// precedes says when the entry that precedes this one comes first.
func (c connection) precedes(cl client.Client) string {
	if cl.NeedsApproval && c.First.Scope == client.Project {
		return "comes first once it is approved"
	}
	return "comes first"
}

// extras returns what is unusual about an entry that has been written.
func (c connection) extras() string {
	out := ""
	if name := c.entryName; name != "" && name != client.Name {
		out = ", called " + name
	}
	if dirs := values(c.Command, "--dir"); len(dirs) > 0 {
		out += ", which serves " + strings.Join(dirs, " and ") + " alone"
	}
	return out
}

// values returns the values of a flag on a command line.
func values(words []string, flag string) (out []string) {
	for i, w := range words {
		if value, ok := strings.CutPrefix(w, flag+"="); ok {
			out = append(out, value)
		} else if w == flag && i+1 < len(words) {
			out = append(out, words[i+1])
		}
	}
	return out
}
