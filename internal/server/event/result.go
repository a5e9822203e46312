package event

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// Find returns the skill in a view that has a name or a URI, or nil.
func Find(v catalog.View, asked string) *catalog.Entry {
	if v.Snapshot == nil {
		return nil
	}
	if at := strings.TrimSpace(asked); len(at) > len(skill.Scheme) && strings.EqualFold(at[:len(skill.Scheme)], skill.Scheme) {
		uri, err := skill.ParseURI(at)
		if err != nil {
			return nil
		}
		e, _ := v.At(uri)
		return e
	}
	if e := v.Named(asked); e != nil {
		return e
	}
	if e := v.ServedInFolder(asked); e != nil {
		return e
	}
	return v.InFolder(asked)
}

// Explain sets the result of a request that failed or found nothing. If the operator's policy holds
// the requested skill back, it also sets the reason. A client gets the same answer for a hidden
// skill and a missing one, but the result distinguishes them. fault is the error of reading the
// disk, or nil.
func (e *Event) Explain(c *catalog.Catalog, fault error) {
	found := Find(e.View, e.Asked)
	if found == nil || found.HeldBack() {
		if entry := e.View.Held(strings.TrimSpace(e.Asked)); entry != nil {
			p, _ := entry.SkipReason()
			e.Result, e.Reason = Denied, p.Message
			return
		}
	}
	call := e.Method == "tools/call"
	_, outside := skill.FilePath(e.File)
	switch {
	case found == nil:
		e.Result = absent(c, e.Asked, fault)
	case call && !found.ModelInvocable, e.Method == "prompts/get" && !found.UserInvocable,
		e.File != "" && errors.Is(outside, skill.ErrOutside), errors.Is(fault, skill.ErrOutside):
		e.Result = Denied
	case errors.Is(fault, fs.ErrNotExist), errors.Is(fault, skill.ErrNotRegular),
		fault == nil && (e.File != "" || !call): // no file was opened, so the request named a missing one
		e.Result = NotFound
	case errors.Is(fault, skill.ErrBusy):
		e.Result = Busy
	default:
		e.Result = Failed
	}
}

// absent returns the result of a request for a skill that its subject does not see.
func absent(c *catalog.Catalog, asked string, fault error) Result {
	all, ready := c.Now(nil)
	switch {
	case ready && (Find(all, asked) != nil || all.Held(strings.TrimSpace(asked)) != nil):
		return Denied
	case !ready, errors.Is(fault, skill.ErrBusy), all.Unsure() != nil: // the skill may exist
		return Busy
	}
	return NotFound
}
