package cli

import (
	"fmt"
	"strings"

	"github.com/knack-dev/knack/client"
)

// connection is the JSON form of connect.
type connection struct {
	Client  string   `json:"client"`
	Name    string   `json:"name"`
	Here    bool     `json:"here"`
	File    string   `json:"file,omitempty"`
	Scope   string   `json:"scope,omitempty"` // "user", "project" or "local"
	Key     string   `json:"key,omitempty"`   // where the entry is in the file
	State   string   `json:"state"`           // "connected", "outdated", "absent", "other" or "refused"
	Why     string   `json:"why,omitempty"`
	Command []string `json:"command,omitempty"` // what the existing entry starts
	URL     string   `json:"url,omitempty"`     // the URL that it names
	Missing bool     `json:"missing,omitempty"` // it names a program that is in no folder of PATH
	Suspect string   `json:"suspect,omitempty"` // why what it starts is not known to be knack
	Off     bool     `json:"off,omitempty"`     // it is turned off
	// First is the entry that the client uses instead of this one.
	First   *connection `json:"first,omitempty"`
	Changes []diff      `json:"changes,omitempty"` // what --write changes in it, or has changed
	Entry   string      `json:"entry,omitempty"`
	Written bool        `json:"written,omitempty"`
	Backup  string      `json:"backup,omitempty"`
	called  string      // the entry's name
}

type diff struct {
	Key string `json:"key"`
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

func connectionOf(ch client.Change) connection {
	out := connection{
		called: ch.Name, File: ch.File, Scope: string(ch.Scope), Key: ch.Key, State: string(ch.State),
		Command: ch.Command, URL: ch.URL, Suspect: ch.Suspect, Off: ch.Off != "" || ch.ListFile != "",
	}
	for _, d := range ch.Differences {
		out.Changes = append(out.Changes, diff(d))
	}
	return out
}

// sentence says how a client is connected, and in which file.
func (c connection) sentence(env Env) string {
	if c.First != nil && c.State != "refused" {
		return c.First.sentence(env)
	}
	file := atHome(env, c.File)
	switch c.State {
	case "connected", "outdated":
		if c.Missing {
			return fmt.Sprintf("not connected: it %s, which no folder of PATH has (%s)", c.how(), file)
		}
		is := "connected"
		if c.Off {
			is = "turned off"
		}
		if c.State == "outdated" {
			how := "--write"
			if c.Scope == "project" {
				how = "--scope project --write"
			}
			is += ", and " + how + " would update it"
		}
		return fmt.Sprintf("%s: %s (%s)", is, c.how(), file)
	case "other":
		return fmt.Sprintf("not connected: its server called knack %s (%s)", c.how(), file)
	case "refused":
		if file == "" {
			return "cannot be connected: " + c.Why
		}
		return fmt.Sprintf("cannot be connected: %s: %s", file, c.Why)
	}
	return fmt.Sprintf("not connected (%s)", file)
}

// how says what the entry starts or leads to, for whom, and its name if that is not knack.
func (c connection) how() string {
	out := "leads to " + c.URL
	if len(c.Command) > 0 {
		out = "starts " + c.Command[0]
	}
	if dirs := values(c.Command, "--dir"); len(dirs) > 0 && c.State != "other" {
		out += ", which serves " + strings.Join(dirs, " and ") + " alone"
	}
	if name := c.called; name != "" && name != client.Name {
		out += ", is called " + name
	}
	if c.Suspect != "" {
		out += " (" + c.Suspect + ")"
	}
	switch c.Scope {
	case "project":
		out += ", in this project"
	case "local":
		out += ", in this project, for you alone"
	}
	return out
}

// precedence says which entry the client uses instead of this one.
func (c connection) precedence(env Env, cl client.Client) string {
	what, file := "its entry", atHome(env, c.First.File)
	if c.First.State == "other" {
		what = "its server called knack"
	}
	if cl.OnceApproved && c.First.Scope == "project" {
		return fmt.Sprintf("In this project %s has one of this name too: %s %s. %s calls different ones conflicting scopes, and uses %s until you approve the project's, then that one.",
			file, what, c.First.how(), cl.Name, atHome(env, c.File))
	}
	return fmt.Sprintf("In this project %s comes first: %s %s", file, what, c.First.how())
}

// comes says when the entry that precedes this one comes first.
func (c connection) comes(cl client.Client) string {
	if cl.OnceApproved && c.First.Scope == "project" {
		return "comes first once it is approved"
	}
	return "comes first"
}

// besides returns what is unusual about an entry that has been written.
func (c connection) besides() string {
	out := ""
	if name := c.called; name != "" && name != client.Name {
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
