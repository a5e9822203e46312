package builtin

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/knack-dev/knack/skill"
)

// parts contains the text of engage: a head, a tail, and between them a part for each tool set,
// named after the set. The first line of a part is the part's row in the table of the head.
//
//go:embed engage
var parts embed.FS

// defaultSet is the tool set of a server without --tools.
const defaultSet = "default"

// engageText returns the text for a server with these tool sets. It names only their tools, because
// an agent would be misled by a tool that it does not have.
func engageText(sets []string) string {
	if len(sets) == 0 {
		sets = []string{defaultSet}
	}
	var rows, sections strings.Builder
	for i, set := range sets {
		if slices.Contains(sets[:i], set) || set == "universal" && slices.Contains(sets, defaultSet) {
			continue // the default set has that tool too
		}
		row, section, _ := strings.Cut(part(set), "\n")
		rows.WriteString(row + "\n")
		sections.WriteString(section)
	}
	return part("head") + rows.String() + sections.String() + part("tail")
}

// part returns one of the parts, or "" for a set without one.
func part(name string) string {
	data, err := parts.ReadFile("engage/" + name + ".md")
	if err != nil {
		return ""
	}
	return string(data)
}

// engageFS returns the folder of engage, which has one file.
func engageFS(text string) fs.FS {
	return fstest.MapFS{skill.MainFile: {Data: []byte(text), Mode: 0o444}}
}
