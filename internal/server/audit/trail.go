package audit

// This file describes requests for the audit log: the requested skill, the loaded files, and why a
// request failed. A client gets the same answer for a hidden skill and a missing one; the audit log
// distinguishes them.

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

// Asked is the object of a request: a skill by its name, or anything by its URI, and a file of
// the skill.
type Asked struct{ Name, URI, File string }

// named returns the request for a skill's name or a URI.
func named(text string) Asked {
	if strings.HasPrefix(text, skill.Scheme) {
		return Asked{URI: text}
	}
	return Asked{Name: text}
}

// Arguments reads the skill and the file that a tool's arguments name, in any contract's form.
func Arguments(arguments json.RawMessage) Asked {
	var a struct {
		Name      string `json:"name"`
		Command   string `json:"command"`
		SkillName string `json:"skill_name"`
		FilePath  string `json:"file_path"`
		URI       string `json:"uri"`
	}
	_ = json.Unmarshal(arguments, &a) // malformed arguments name nothing
	q := Asked{Name: cmp.Or(a.Name, a.Command, a.SkillName), URI: a.URI, File: a.FilePath}
	if name := strings.TrimSpace(q.Name); q.URI == "" && len(name) > len(skill.Scheme) && strings.EqualFold(name[:len(skill.Scheme)], skill.Scheme) {
		q.Name, q.URI = "", name
	}
	return q
}

// find returns the requested skill, or nil if the view has none.
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

// heldIn returns the requested skill if the view holds it back, or nil.
func (q Asked) heldIn(v catalog.View) *catalog.Entry {
	return v.Held(strings.TrimSpace(cmp.Or(q.URI, q.Name)))
}

// held returns the result of a request for a skill that the operator's policy holds back, and the
// reason. ok is false for any other request.
func (q Asked) held(v catalog.View) (result Result, why string, ok bool) {
	e := q.heldIn(v)
	if e == nil {
		return "", "", false
	}
	p, _ := e.SkipReason()
	return Denied, p.Message, true
}

// absent returns the result of a request for something that its principal does not see. err is
// the error of reading the disk, or nil.
func (q Asked) absent(c *catalog.Catalog, err error) Result {
	all, ready := c.Now(nil)
	switch {
	case ready && (q.find(all) != nil || q.heldIn(all) != nil):
		return Denied
	case !ready, errors.Is(err, skill.ErrBusy), all.Unsure() != nil: // the skill may exist
		return Busy
	}
	return NotFound
}

// Call is a call of an MCP method.
type Call struct {
	Asked                         Asked
	Method, Name, Client, Address string // Name is the tool's or the prompt's
	Subject                       access.Subject
	View                          catalog.View // the subject's view
}

// Event returns the event of a call. A failed call has no loads, even if files were read for it.
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

// result returns the result of a call that failed or found nothing, and the reason if the
// operator's policy held the skill back.
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

// Missing returns the result of a request that was answered with "not found". err is the error of
// reading the file, nil if none was opened. why is set if the operator's policy holds the
// requested skill back.
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

// fault returns the result of a failed request for something that its principal sees. If no file
// was opened, the request named a missing file, or none.
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

// Loaded returns the files that a request read.
func Loaded(trace *catalog.Trace) (out []Load) {
	for _, l := range trace.Loads() {
		out = append(out, Load{URI: l.URI, Digest: l.Digest.String(), Size: l.Size})
	}
	return out
}
