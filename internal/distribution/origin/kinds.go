package origin

import (
	"path/filepath"
	"slices"
	"strings"
)

// Properties are the facts about a kind of source that other packages need.
type Properties struct {
	Kind     Kind
	Prefix   string // the beginning of a source that has a scheme and no "://", or ""
	Revision string // the beginning of the ID of a [Revision]; "" for a kind without IDs
	Access   string // why a source needs no credentials of knack, or "" if it gets them
}

// Kinds has a row for each kind of source.
var Kinds = []Properties{
	{Folder, "file:", "", "a folder needs none"},
	{Git, "git@", "git:", "git's own credential helpers are asked"},
	{OCI, "", "oci:", "the login of 'docker login' is used"},
	{NPM, "npm:", "npm:", "the token in your .npmrc is used"},
	{Archive, "", "http:", ""},
	{WellKnown, "", "http:", ""},
	{MCP, "mcp:", "http:", ""},
}

// Typed returns a path, as shown to people, in the form of a source on the command line. Without the
// dot, it could be taken for a flag or for the name of a repository.
func Typed(path string) string {
	if path == "." || strings.HasPrefix(path, "~") || filepath.IsAbs(path) {
		return path
	}
	return "./" + path
}

// HasScheme reports whether a text is a source with a scheme, not a skill's name or folder.
func HasScheme(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "://") || slices.ContainsFunc(Kinds, func(p Properties) bool {
		return p.Prefix != "" && strings.HasPrefix(text, p.Prefix)
	})
}

// RevisionPrefixes returns the prefixes that the ID of a [Revision] can have.
func RevisionPrefixes() (all []string) {
	for _, p := range Kinds {
		if p.Revision != "" && !slices.Contains(all, p.Revision) {
			all = append(all, p.Revision)
		}
	}
	return all
}

// OnDisk reports whether the source is a folder, an archive or a repository on the disk.
func (r Ref) OnDisk() bool {
	return r.Kind == Folder || (r.Kind == Archive || r.Kind == Git) && filepath.IsAbs(r.Location)
}

// Access returns why the source needs no credentials of knack, or "" if it gets them.
func (r Ref) Access() string {
	if r.Kind == Archive && r.OnDisk() {
		return "a file needs none"
	}
	return Kinds[slices.IndexFunc(Kinds, func(p Properties) bool { return p.Kind == r.Kind })].Access
}
