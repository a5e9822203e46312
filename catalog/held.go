package catalog

import (
	"slices"
	"strings"

	"github.com/knack-dev/knack/skill"
)

// Held returns the held-back skill that would answer to a name or URI if the operator's policy let
// it be served, or nil. Its problems are for the operator.
func (v View) Held(asked string) *Entry {
	if v.Snapshot == nil {
		return nil
	}
	isURI := strings.HasPrefix(asked, skill.Scheme)
	uri, _ := skill.ParseURI(strings.TrimSuffix(asked, "/"))
	for _, e := range v.Skipped {
		switch {
		case !e.HeldBack():
		case isURI && v.CouldContain(e, uri), !isURI && asked != "" && (strings.EqualFold(asked, e.Folder()) || e.Name != "" && skill.KeyOf(asked) == skill.KeyOf(e.Name)):
			return e
		}
	}
	return nil
}

// SkippedAt returns the first skipped skill that could have a URI if it were served, or nil.
func (v View) SkippedAt(uri skill.URI) *Entry {
	if v.Snapshot == nil {
		return nil
	}
	at := strings.TrimSuffix(uri.Path(), "/"+skill.MainFile)
	for _, e := range v.Skipped {
		if bases, _ := v.PossibleBases(e, noName); slices.Contains(bases, at) {
			return e
		}
	}
	return nil
}

// noName is not the name of any skill.
const noName = "\x00"

// CouldContain reports whether a URI is in the folder of a skill, at one of its possible paths.
func (s *Snapshot) CouldContain(e *Entry, uri skill.URI) bool {
	bases, next := s.PossibleBases(e, "")
	return slices.ContainsFunc(append(bases, next), func(base string) bool {
		return base != "" && strings.HasPrefix(uri.Path()+"/", base+"/")
	})
}
