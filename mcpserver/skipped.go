package mcpserver

import (
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// noSkill says why nothing answers to a URI: no skill has it, or why the skill there was
// skipped.
func noSkill(v catalog.View, uri skill.URI) string {
	if why := skippedAt(v, uri); why != "" {
		return why
	}
	return "no skill has it; resources/list names all"
}

// skippedAt says why the skill in a URI's folder was skipped, "" without a skipped skill. As
// for one that is served, the first part alone may name it.
func skippedAt(v catalog.View, uri skill.URI) string {
	path := uri.Path()
	for _, e := range v.Skipped {
		base := e.Path
		if e.Root.Prefix != "" {
			base = e.Root.Prefix + "/" + base
		}
		if path == base || strings.HasPrefix(path, base+"/") {
			return skippedBecause(e)
		}
	}
	if name, file, ok := strings.Cut(path, "/"); ok && file == skill.MainFile {
		return skippedAs(v, name)
	}
	return ""
}

// skippedAs says why the skill of that name was skipped, "" without a skipped skill.
func skippedAs(v catalog.View, name string) string {
	key := skill.KeyOf(name)
	for _, e := range v.Skipped {
		if skill.KeyOf(e.Folder()) == key || e.Name != "" && e.Key == key {
			return skippedBecause(e)
		}
	}
	return ""
}

func skippedBecause(e *catalog.Entry) string { return "the skill was skipped: " + tool.Reason(e) }
