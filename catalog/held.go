package catalog

import (
	"path"
	"strings"

	"github.com/knack-dev/knack/skill"
)

// Held returns the held-back skill that would answer to a name or URI if the operator's policy let
// it be served, or nil. Its problems are for the operator.
func (v View) Held(asked string) *Entry {
	if v.Snapshot == nil {
		return nil
	}
	uri, isURI := strings.CutPrefix(asked, skill.Scheme)
	for _, e := range v.Skipped {
		switch {
		case !e.HeldBack():
		case isURI && e.wouldHave(strings.TrimSuffix(uri, "/")+"/"), !isURI && asked != "" && (strings.EqualFold(asked, e.Folder()) || e.Name != "" && skill.KeyOf(asked) == skill.KeyOf(e.Name)):
			return e
		}
	}
	return nil
}

// wouldHave reports whether a path is in the folder of the skill's URI if it were served, by its
// folder or by its name.
func (e *Entry) wouldHave(asked string) bool {
	at := e.Path
	if at == "." {
		at = e.Folder()
	}
	paths := []string{at}
	if skill.ValidName(e.Name) {
		paths = append(paths, path.Join(path.Dir(at), e.Name))
	}
	for _, p := range paths {
		uri, err := skill.MainURI(e.Root.Prefix, p)
		if err == nil && strings.HasPrefix(asked, strings.TrimSuffix(strings.TrimPrefix(uri.String(), skill.Scheme), skill.MainFile)) {
			return true
		}
	}
	return false
}
