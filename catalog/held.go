package catalog

import (
	"path"
	"strings"

	"github.com/knack-dev/knack/skill"
)

// Held returns the skill that the operator's policy holds back, and that would answer to a name, or
// have a URI below its own, if it were served. It is nil if there is none. Its problems are for the
// operator.
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

// wouldHave reports whether a path is in the folder that the skill's URI would have, by its folder or
// by its name.
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
