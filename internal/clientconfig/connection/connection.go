// Package connection describes how a client is connected to knack, and why an entry has no effect.
// The files are read and written by package clientconfig.
package connection

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/internal/base/diff"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/clientconfig"
)

// Refused is the state of an entry that knack cannot read or write.
const Refused clientconfig.State = "refused"

// Connection describes the entry of one client. It is the JSON output of connect.
type Connection struct {
	Client  string             `json:"client"`
	Name    string             `json:"name"`
	Here    bool               `json:"here"`
	File    string             `json:"file,omitempty"`
	Scope   clientconfig.Scope `json:"scope,omitempty"`
	Key     string             `json:"key,omitempty"` // path of the entry in the file
	State   clientconfig.State `json:"state"`         // or Refused
	Why     string             `json:"why,omitempty"`
	Command []string           `json:"command,omitempty"` // the command line of the existing entry
	URL     string             `json:"url,omitempty"`     // the URL of the existing entry
	Missing bool               `json:"missing,omitempty"` // no folder of PATH has its program
	Suspect string             `json:"suspect,omitempty"` // why its program is not known to be knack
	Off     bool               `json:"off,omitempty"`     // whether the entry is turned off
	// First is the entry that the client uses instead of this one.
	First   *Connection `json:"first,omitempty"`
	Changes []Field     `json:"changes,omitempty"` // fields that --write changes, or has changed
	Diff    string      `json:"diff,omitempty"`    // the changes as a diff of the entry
	Entry   string      `json:"entry,omitempty"`
	Written bool        `json:"written,omitempty"`
	Backup  string      `json:"backup,omitempty"`
	// Gain compares the skills that the client reads itself with the skills that knack adds. It is
	// nil if it was not computed.
	Gain *Gain `json:"skills,omitempty"`

	client     clientconfig.Client
	change     clientconfig.Change
	formatPath func(string) string // returns a path in its form for the user
}

// Field is one field of an entry that changes.
type Field struct {
	Key string `json:"key"`
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// Of describes a client's entry. The function formatPath returns a path in its form for the user.
func Of(c clientconfig.Client, p clientconfig.Env, ch clientconfig.Change, formatPath func(path string) string) Connection {
	out := connectionOf(c, ch, formatPath)
	out.Here = c.Installed(p)
	if ch.OverriddenBy != nil {
		first := connectionOf(c, *ch.OverriddenBy, formatPath)
		first.Here = out.Here
		first.Missing = len(first.Command) > 0 && filepath.Base(first.Command[0]) == first.Command[0] && !p.CanStart(first.Command[0])
		out.First = &first
	}
	return out
}

func connectionOf(c clientconfig.Client, ch clientconfig.Change, formatPath func(string) string) Connection {
	words := display.RedactWords(ch.Command)
	copy(words, ch.Command[:min(1, len(words))]) // the path of the program is not secret
	out := Connection{
		Client: c.ID, Name: c.Name, client: c, change: ch, formatPath: formatPath,
		File: ch.File, Scope: ch.Scope, Key: ch.Key, State: ch.State,
		Command: words, URL: redacted(ch.URL), Suspect: ch.Suspicion, Off: ch.Off != "" || ch.ListFile != "",
	}
	for _, d := range ch.Differences {
		out.Changes = append(out.Changes, Field(d))
	}
	if len(out.Changes) > 0 {
		key := display.OneLine(ch.Key)
		out.Diff = cmp.Or(diff.Part(formatPath(ch.File), key, ch.EntryBefore, ch.EntryAfter),
			fmt.Sprintf("%s, %s: only values that are not shown change, because they may be secret\n", formatPath(ch.File), key))
	}
	return out
}

// Unreadable returns an error for each further file of the client that cannot be read.
func (c Connection) Unreadable() []*fs.PathError { return c.change.Unreadable }

// redacted returns a URL without its possibly secret parts.
func redacted(url string) string {
	if url == "" {
		return ""
	}
	return display.RedactURI(url)
}

// Works reports whether the client starts or reaches knack through the entry that it uses.
func (c Connection) Works() bool {
	if c.First != nil {
		c = *c.First
	}
	return (c.State == clientconfig.Connected || c.State == clientconfig.Outdated) && !c.Missing && !c.Off
}

// Status describes how a client is connected, and in which file.
func (c Connection) Status() string {
	if c.First != nil && c.State != Refused {
		return c.First.Status()
	}
	file := c.formatPath(c.File)
	switch c.State {
	case clientconfig.Connected, clientconfig.Outdated:
		if c.Missing {
			return fmt.Sprintf("not connected: it %s, which no folder of PATH has (%s)", c.Target(), file)
		}
		state := "connected"
		if c.Off {
			state = "turned off"
		}
		if c.State == clientconfig.Outdated {
			how := "--write"
			if c.Scope == clientconfig.Project {
				how = "--scope project --write"
			}
			state += ", and " + how + " would update it"
		}
		return fmt.Sprintf("%s: %s (%s)", state, c.Target(), file)
	case clientconfig.Foreign:
		return fmt.Sprintf("not connected: its server called knack %s (%s)", c.Target(), file)
	case Refused:
		if file == "" {
			return "cannot be connected: " + c.Why
		}
		return fmt.Sprintf("cannot be connected: %s: %s", file, c.Why)
	}
	return fmt.Sprintf("not connected (%s)", file)
}

// Target describes the program or URL of the entry, its scope, and its name if that is not knack.
func (c Connection) Target() string {
	out := "leads to " + c.URL
	if len(c.Command) > 0 {
		out = "starts " + c.Command[0]
	}
	if dirs := values(c.Command, "--dir"); len(dirs) > 0 && c.State != clientconfig.Foreign {
		out += ", which serves " + strings.Join(dirs, " and ") + " alone"
	}
	if name := c.change.Name; name != "" && name != clientconfig.Name {
		out += ", is called " + name
	}
	if c.Suspect != "" {
		out += " (" + c.Suspect + ")"
	}
	switch c.Scope {
	case clientconfig.Project:
		out += ", in this project"
	case clientconfig.Local:
		out += ", in this project, for you alone"
	}
	return out
}

// Precedence describes the entry that the client uses instead of this one.
func (c Connection) Precedence() string {
	what, file := "its entry", c.formatPath(c.First.File)
	if c.First.State == clientconfig.Foreign {
		what = "its server called knack"
	}
	if c.client.NeedsApproval && c.First.Scope == clientconfig.Project {
		return fmt.Sprintf("In this project %s has one of this name too: %s %s. %s calls different ones conflicting scopes, and uses %s until you approve the project's, then that one.",
			file, what, c.First.Target(), c.Name, c.formatPath(c.File))
	}
	return fmt.Sprintf("In this project %s comes first: %s %s", file, what, c.First.Target())
}

// precedes is the verb phrase that says when the entry c.First takes effect.
func (c Connection) precedes() string {
	if c.client.NeedsApproval && c.First.Scope == clientconfig.Project {
		return "comes first once it is approved"
	}
	return "comes first"
}

// Extras describes unusual properties of an entry that has been written.
func (c Connection) Extras() string {
	out := ""
	if name := c.change.Name; name != "" && name != clientconfig.Name {
		out = ", called " + name
	}
	if dirs := values(c.change.CommandAfter, "--dir"); len(dirs) > 0 {
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
