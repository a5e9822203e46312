package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/limit"
	"github.com/knack-dev/knack/reads"
	"github.com/knack-dev/knack/skill"
)

// The discovery index of agent skills, version 0.2.0
// (github.com/cloudflare/agent-skills-discovery-rfc).
const (
	wellKnown       = "/.well-known/agent-skills/"
	discoverySchema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
)

// discoverable reports whether the index lists the skill. It lists skills that answer
// to their own name and have a SKILL.md that follows the specification exactly. The
// artifact is SKILL.md alone, so the limits of the Skills extension on other files do
// not apply.
func discoverable(e *catalog.Entry) bool {
	return e.Status == catalog.Available && e.Publishable && e.IsNamedByURI()
}

// maxIndexes is the maximum size of the cached indexes, in bytes. That is enough for
// about 40,000 skills, or 5,000 for each of eight subjects with different views. A
// larger index is cached alone.
const maxIndexes = 16 << 20

func (s *Site) wellKnownIndex(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	if r.lacks != nil { // the index cannot say that it is incomplete
		return problem(http.StatusServiceUnavailable, sentence(r.lacks.Error()))
	}
	fields, err := fieldsAsked(r.URL.Query(), indexFields)
	if err != nil {
		return err
	}
	if fields == nil {
		return answerKept(r, "application/json", s.indexes.Get(v, func() tagged { return tagOf(discoveryOf(v, nil)) }))
	}
	// A client that asks for less does so once in a while: nothing is kept of its answer.
	if err := limit.Reserve(r.Context(), 2*sizeOf(v, fields)); err != nil {
		return err
	}
	return answerTagged(r, "application/json", discoveryOf(v, fields))
}

// sizeOf estimates the size of an index of the given properties, from above.
func sizeOf(v catalog.View, fields []string) (size int64) {
	for _, e := range v.Entries {
		if size += 224 + 2*int64(len(e.Name)); slices.Contains(fields, "description") {
			size += int64(len(e.Description))
		}
	}
	return size
}

// discoveryOf encodes the index of a view by hand, with all properties if fields is nil. Encoding it as one value would hold
// it three times, and encoding/json takes twice as long.
func discoveryOf(v catalog.View, fields []string) []byte {
	var all []*catalog.Entry
	size := 128
	for _, e := range v.Entries {
		if discoverable(e) {
			all = append(all, e)
			size += 224 + 2*len(e.Name)
			if fields == nil || slices.Contains(fields, "description") {
				size += len(e.Description)
			}
		}
	}
	b := append(make([]byte, 0, size), `{"$schema":"`+discoverySchema+`","skills":[`...)
	has := [5]bool{}
	for i, name := range indexFields {
		has[i] = fields == nil || slices.Contains(fields, name)
	}
	for i, e := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		begun := len(b)
		add := func(field int, value string) {
			if has[field] {
				if len(b) > begun {
					b = append(b, ',')
				}
				b = append(append(append(b, '"'), indexFields[field]...), '"', ':')
				b = display.AppendJSONString(b, value)
			}
		}
		add(0, e.Name)
		add(1, "skill-md")
		add(2, e.Description)
		if has[3] {
			add(3, wellKnown+e.Name+"/"+skill.MainFile)
		}
		if has[4] {
			add(4, e.Digest.String())
		}
		b = append(b, '}')
	}
	b = append(b, ']')
	if fields != nil {
		names, _ := json.Marshal(fields)
		b = append(append(b, `,"fields":`...), names...)
	}
	return display.AppendVisibleJSON(nil, append(b, "}\n"...))
}

func (s *Site) wellKnownSkill(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	name, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, wellKnown), "/"+skill.MainFile)
	reads.TraceOf(r.Context()).Ask(name)
	v, e, unsure := s.host.Named(r.Context(), v, name)
	if ok && e == nil && unsure != nil {
		return absent(unsure, "")
	}
	if !ok || e == nil || e.Name != name || !discoverable(e) {
		return problem(http.StatusNotFound, "The index has no such skill.")
	}
	data, _, err := v.Read(r.Context(), e)
	if err != nil {
		return readFault(err)
	}
	r.w.Header().Set("Content-Security-Policy", rawPolicy)
	return answerTagged(r, "text/markdown; charset=utf-8", data)
}
