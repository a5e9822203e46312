// Package trail words requests for the audit log: what was asked for, what was loaded, and why
// a request failed. A client gets the same answer for a skill that it may not see and for one
// that does not exist; the audit log distinguishes them.
package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Asked is what a request asks for: a skill by its name, or anything by its URI, and a file of
// the skill.
type Asked struct{ Name, URI, File string }

// named is what a text asks for that is a skill's name or a URI.
func named(text string) Asked {
	if strings.HasPrefix(text, skill.Scheme) {
		return Asked{URI: text}
	}
	return Asked{Name: text}
}

// Arguments reads the arguments of a tool that name a skill or a file of one, by all the
// contracts.
func Arguments(arguments json.RawMessage) Asked {
	var a struct {
		Name      string `json:"name"`
		Command   string `json:"command"`
		SkillName string `json:"skill_name"`
		FilePath  string `json:"file_path"`
		URI       string `json:"uri"`
	}
	_ = json.Unmarshal(arguments, &a) // malformed arguments ask for nothing
	q := Asked{Name: cmp.Or(a.Name, a.Command, a.SkillName), URI: a.URI, File: a.FilePath}
	if name := strings.TrimSpace(q.Name); q.URI == "" && len(name) > len(skill.Scheme) && strings.EqualFold(name[:len(skill.Scheme)], skill.Scheme) {
		q.Name, q.URI = "", name
	}
	return q
}

// find returns the skill that is asked for, nil if the view has none.
func (q Asked) find(v catalog.View) *catalog.Entry {
	if v.Snapshot == nil {
		return nil
	}
	if q.URI != "" {
		uri, err := skill.ParseURI(strings.TrimSpace(q.URI))
		if err != nil {
			return nil
		}
		e, _ := v.At(uri)
		return e
	}
	if e := v.Named(q.Name); e != nil {
		return e
	}
	if e := v.ServedInFolder(q.Name); e != nil {
		return e
	}
	return v.InFolder(q.Name)
}

// heldIn returns the skill of a view that is asked for and held back, or nil.
func (q Asked) heldIn(v catalog.View) *catalog.Entry {
	return v.Held(strings.TrimSpace(cmp.Or(q.URI, q.Name)))
}

// held is the result of a request for a skill that the operator's policy holds back, and why; ok is
// false if it is for none.
func (q Asked) held(v catalog.View) (result Result, why string, ok bool) {
	e := q.heldIn(v)
	if e == nil {
		return "", "", false
	}
	p, _ := e.SkipReason()
	return Denied, p.Message, true
}

// absent is the result of a request for something that its principal does not see. err is why
// the disk could not be asked for it, nil if it was asked.
func (q Asked) absent(c *catalog.Catalog, err error) Result {
	all, ready := c.Now(nil)
	switch {
	case ready && (q.find(all) != nil || q.heldIn(all) != nil):
		return Denied
	case !ready, errors.Is(err, skill.ErrBusy), all.Unsure() != nil: // it may exist
		return Busy
	}
	return NotFound
}

// Call is a call of a method of MCP.
type Call struct {
	Asked                         Asked
	Method, Name, Client, Address string // Name is that of a tool or prompt
	Subject                       access.Subject
	View                          catalog.View // what the subject sees
}

// Event is a call's event. A failed call loaded nothing, whatever was read for it.
func (c Call) Event(ctx context.Context, of *catalog.Catalog, trace *catalog.Trace, failed bool) Event {
	e := Event{
		Surface: MCP, Subject: c.Subject.Name, Client: display.RedactURI(c.Client), Address: c.Address, Method: c.Method,
		Asked: display.RedactURI(cmp.Or(c.Asked.URI, c.Asked.Name)), File: display.RedactURI(c.Asked.File), Result: OK,
	}
	if c.Method == "tools/call" {
		e.Tool = display.RedactURI(c.Name)
	}
	if failed {
		e.Result, e.Reason = c.result(ctx, of, trace)
		return e
	}
	e.Loaded = Loaded(trace)
	return e
}

// result is the result of a call that was not answered with what it asked for, and why if the
// operator's policy keeps it.
func (c Call) result(ctx context.Context, of *catalog.Catalog, trace *catalog.Trace) (result Result, why string) {
	q := c.Asked
	if q.Name == "" && q.URI == "" || ctx.Err() != nil {
		return Failed, ""
	}
	e := q.find(c.View)
	if e == nil || e.HeldBack() {
		if result, why, ok := q.held(c.View); ok {
			return result, why
		}
	}
	if e == nil {
		return q.absent(of, trace.Fault()), ""
	}
	_, err := skill.FilePath(q.File)
	switch {
	case c.Method == "tools/call" && !e.ModelInvocable, c.Method == "prompts/get" && !e.UserInvocable:
		return Denied, ""
	case q.File != "" && errors.Is(err, skill.ErrOutside):
		return Denied, ""
	}
	return fault(trace.Fault(), q.File != "" || c.Method != "tools/call"), ""
}

// Missing is the result of a request that was answered with "not found". err is what kept
// the file from being read, nil if none was opened. why is set if the operator's policy keeps what
// was asked for.
func Missing(c *catalog.Catalog, who access.Principal, asked string, err error) (result Result, why string) {
	if asked == "" {
		return NotFound, ""
	}
	q := named(asked)
	view, ready := c.Now(who.Filter)
	if !ready {
		return q.absent(c, err), ""
	}
	if e := q.find(view); e != nil && !e.HeldBack() {
		return fault(err, true), ""
	}
	if result, why, ok := q.held(view); ok {
		return result, why
	}
	return q.absent(c, err), ""
}

// fault is the result of a failed request for something that its principal sees. If no file
// was opened, the request asked for a file that does not exist, or for none.
func fault(err error, forFile bool) Result {
	switch {
	case errors.Is(err, skill.ErrOutside):
		return Denied
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, skill.ErrNotRegular), err == nil && forFile:
		return NotFound
	case errors.Is(err, skill.ErrBusy):
		return Busy
	}
	return Failed
}

// Loaded returns what a request was given.
func Loaded(trace *catalog.Trace) (out []Load) {
	for _, l := range trace.Loads() {
		out = append(out, Load{URI: l.URI, Digest: l.Digest.String(), Size: l.Size})
	}
	return out
}
