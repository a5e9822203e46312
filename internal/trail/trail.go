// Package trail words requests for the audit log: what was asked for, what was loaded, and why
// a request failed. A client gets the same answer for a skill that it may not see and for one
// that does not exist; the audit log distinguishes them.
package trail

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/audit"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/reads"
	"github.com/knack-dev/knack/skill"
)

// Asked is what a request asks for: a skill by its name, or anything by its URI, and a file of
// the skill.
type Asked struct{ Name, URI, File string }

// Named is what a text asks for that is a skill's name or a URI.
func Named(text string) Asked {
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

// Find returns the skill that is asked for, nil if the view has none.
func (q Asked) Find(v catalog.View) *catalog.Entry {
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

// Absent is the result of a request for something that its principal does not see.
func (q Asked) Absent(c *catalog.Catalog) audit.Result {
	all, ready := c.Now(nil)
	switch {
	case ready && q.Find(all) != nil:
		return audit.Denied
	case !ready || all.Unsure() != nil: // it may exist
		return audit.Failed
	}
	return audit.NotFound
}

// Missing is the result of a request that was answered with "not found". fault is what kept
// the file from being read, nil if none was opened.
func Missing(c *catalog.Catalog, who access.Principal, asked string, fault error) audit.Result {
	if asked == "" {
		return audit.NotFound
	}
	q := Named(asked)
	if view, ready := c.Now(who.Filter); ready && q.Find(view) != nil {
		return Fault(fault, true)
	}
	return q.Absent(c)
}

// Fault is the result of a failed request for something that its principal sees. If no file
// was opened, the request asked for a file that does not exist, or for none.
func Fault(fault error, forFile bool) audit.Result {
	switch {
	case errors.Is(fault, skill.ErrOutside):
		return audit.Denied
	case errors.Is(fault, fs.ErrNotExist), errors.Is(fault, skill.ErrNotRegular), fault == nil && forFile:
		return audit.NotFound
	}
	return audit.Failed
}

// Loaded returns what a request was given.
func Loaded(trace *reads.Trace) (out []audit.Load) {
	for _, l := range trace.Loads() {
		out = append(out, audit.Load{URI: l.URI, Digest: l.Digest.String(), Size: l.Size})
	}
	return out
}
