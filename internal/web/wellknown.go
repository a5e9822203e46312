package web

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/internal/web/internal/parcels"
	"github.com/knack-dev/knack/skill"
)

// The discovery index of agent skills, version 0.2.0
// (github.com/cloudflare/agent-skills-discovery-rfc).
const (
	wellKnown       = "/.well-known/agent-skills/"
	discoverySchema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
)

// discoverable reports whether the index lists the skill. The index has the skills that are loaded
// by their own name, and whose SKILL.md follows the specification exactly. A skill whose files
// cannot be packed, because they are too many or too large, is listed with only SKILL.md.
func discoverable(e *catalog.Entry) bool {
	return e.Status == catalog.Available && e.Publishable && e.IsNamedByURI()
}

// maxIndexes is the maximum size of the cached indexes, in bytes. That is enough for
// about 40,000 skills, or 5,000 for each of eight subjects with different views. Of
// larger indexes only one is cached.
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
		index, err := s.indexes.Get(r.Context(), v, func() (tagged, error) {
			archives, err := s.archives(r, v)
			return tagOf(discoveryOf(v, nil, archives)), err
		})
		if err != nil {
			return err
		}
		return answerKept(r, "application/json", index)
	}
	// Requests for fewer fields are rare, so their answers are not cached.
	if err := limit.Reserve(r.Context(), 2*sizeOf(v, fields)); err != nil {
		return err
	}
	var archives map[*catalog.Entry]skill.Digest
	if slices.Contains(fields, "type") || slices.Contains(fields, "url") || slices.Contains(fields, "digest") {
		if archives, err = s.archives(r, v); err != nil {
			return err
		}
	}
	return answerTagged(r, "application/json", discoveryOf(v, fields, archives))
}

// archives returns the digests of the archives of skills with several files. The digest is zero for
// a skill that cannot be read at the moment. The index omits such a skill, because a client would
// take SKILL.md for the whole skill.
func (s *Site) archives(r *request, v catalog.View) (map[*catalog.Entry]skill.Digest, error) {
	ctx := r.Context()
	if err := limit.Reserve(ctx, skill.FolderMemory+skill.MaxFile); err != nil {
		return nil, err
	}
	all := map[*catalog.Entry]skill.Digest{}
	for _, e := range v.Entries {
		if !discoverable(e) {
			continue
		}
		p, err := parcels.Of(ctx, v, e)
		if err == nil && p != nil {
			all[e], err = s.parcels.Digest(ctx, v, p) // zero with an error
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && !errors.Is(err, skill.ErrTooLarge) && !errors.Is(err, skill.ErrIncomplete) {
			all[e] = skill.Digest{}
		}
	}
	return all, nil
}

// sizeOf returns an upper bound of the size of an index with the given properties.
func sizeOf(v catalog.View, fields []string) (size int64) {
	for _, e := range v.Entries {
		if size += 224 + 2*int64(len(e.Name)); slices.Contains(fields, "description") {
			size += int64(len(e.Description))
		}
	}
	return size
}

// discoveryOf encodes the index of a view, with all properties if fields is nil. It builds the JSON
// by hand: encoding one value would need three times the memory, and encoding/json takes twice as
// long.
func discoveryOf(v catalog.View, fields []string, archives map[*catalog.Entry]skill.Digest) []byte {
	var all []*catalog.Entry
	size := 128
	for _, e := range v.Entries {
		packed, ok := archives[e]
		if discoverable(e) && (!ok || packed != (skill.Digest{})) {
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
		kind, file, digest := "skill-md", skill.MainFile, e.Digest
		if packed, ok := archives[e]; ok {
			kind, file, digest = "archive", hex.EncodeToString(packed[:])+archiveSuffix, packed
		}
		add(0, e.Name)
		add(1, kind)
		add(2, e.Description)
		if has[3] {
			add(3, wellKnown+e.Name+"/"+file)
		}
		if has[4] {
			add(4, digest.String())
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

// archiveSuffix ends the address of an archive. The file name in the address is the digest of the
// archive. So a client gets the archive that its copy of the index names, or an error.
const archiveSuffix = ".tar.gz"

func (s *Site) wellKnownSkill(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	name, file, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, wellKnown), "/")
	digest, packed := strings.CutSuffix(file, archiveSuffix)
	ok := file == skill.MainFile || packed
	httpguard.EventOf(r.Request).Asked = name
	v, e, unsure := s.host.Named(r.Context(), v, name)
	if ok && e == nil && unsure != nil {
		return absent(unsure, "")
	}
	if !ok || e == nil || e.Name != name || !discoverable(e) {
		return problem(http.StatusNotFound, "The index has no such skill.")
	}
	r.w.Header().Set("Content-Security-Policy", rawPolicy)
	if packed {
		return s.wellKnownArchive(r, v, e, digest)
	}
	data, _, err := v.Read(r.Context(), e)
	if err != nil {
		return readFault(err)
	}
	return answerTagged(r, "text/markdown; charset=utf-8", data)
}

// wellKnownArchive answers with the archive of a skill if the archive still has the given digest.
func (s *Site) wellKnownArchive(r *request, v catalog.View, e *catalog.Entry, digest string) error {
	const gone = "The index has no such archive of the skill, or has it no longer: read the index again."
	if err := limit.Reserve(r.Context(), skill.FolderMemory+skill.MaxFile); err != nil {
		return err
	}
	p, err := parcels.Of(r.Context(), v, e)
	switch {
	case r.Context().Err() != nil:
		return r.Context().Err()
	case errors.Is(err, skill.ErrBusy), errors.Is(err, skill.ErrUnstable):
		return problem(http.StatusServiceUnavailable, sentence("the skill cannot be packed: "+skill.Reason(err)))
	case err != nil || p == nil:
		return problem(http.StatusNotFound, gone)
	}
	if now, err := s.parcels.Digest(r.Context(), v, p); err != nil || hex.EncodeToString(now[:]) != digest {
		if r.Context().Err() != nil || errors.Is(err, skill.ErrNoRoom) {
			return err
		}
		return problem(http.StatusNotFound, gone)
	}
	data, err := p.Bytes(r.Context(), v)
	switch {
	case errors.Is(err, parcels.ErrChanged):
		return problem(http.StatusServiceUnavailable, "The skill changed while it was packed. Try again.")
	case err != nil:
		return readFault(err)
	}
	return answerTagged(r, "application/gzip", data)
}
