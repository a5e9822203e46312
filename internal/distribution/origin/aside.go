package origin

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
)

// Aside has the links and submodules of a source in which a user may expect skills.
type Aside struct {
	// Links maps the path of each link to the folder of the source to which it leads. The folder
	// has skills.
	Links map[string]string
	// Unread describes the links and submodules in which knack does not look for skills.
	Unread []string
}

// Parted is a [Library] whose source may have submodules and links between folders.
type Parted interface {
	// Aside returns the links and submodules that Skills found. It must be called after Skills.
	Aside() Aside
}

// skillsFolder is the name of a folder in which a link probably leads to a skill.
const skillsFolder = "skills"

// MayLeadToSkills reports whether an entry is a link whose location suggests that it
// leads to skills.
func MayLeadToSkills(e Node) bool {
	if e.Type != Link {
		return false
	}
	parts := strings.Split(e.Path, "/")
	return slices.Contains(parts, skillsFolder) && !slices.Contains(parts, "node_modules")
}

// AsideOf returns the links and submodules of a source outside of its skills. addresses has the
// URLs of submodules by path.
func AsideOf(entries []Node, skills []Skill, addresses map[string]string) Aside {
	if !slices.ContainsFunc(entries, func(e Node) bool { return e.Type == Submodule || MayLeadToSkills(e) }) {
		return Aside{}
	}
	a, all := Aside{Links: map[string]string{}}, Select(skills)
	folders := map[string]bool{}
	var subs []string
	for _, e := range entries {
		if e.Type == Submodule {
			subs = append(subs, e.Path)
		}
		for at := range FoldersOf(e.Path) {
			folders[at] = true
		}
		folders[e.Path] = true
	}
	for _, e := range entries {
		switch {
		case all.Holds(e.Path):
		case e.Type == Submodule:
			text := display.Echo(e.Path) + " is a submodule"
			if at := addresses[e.Path]; at != "" {
				text += " (" + display.Echo(at) + ")"
			}
			a.Unread = append(a.Unread, text+", whose skills are not looked for")
		case MayLeadToSkills(e) && e.Target != "":
			to := path.Join(path.Dir(e.Path), e.Target)
			within := slices.ContainsFunc(subs, func(sub string) bool { return sub == to || strings.HasPrefix(to, sub+"/") })
			why := "which is not in the source"
			switch {
			case within:
				why = "which is in a submodule"
			case path.IsAbs(e.Target) || !folders[to]:
			default:
				if slices.ContainsFunc(skills, func(s Skill) bool { return s.Path == to || strings.HasPrefix(s.Path, to+"/") }) {
					a.Links[e.Path] = to
				}
				continue
			}
			a.Unread = append(a.Unread, fmt.Sprintf("%s is a link to %s, %s", display.Echo(e.Path), display.Echo(e.Target), why))
		}
	}
	if n := len(a.Unread) - mostUnread; n > 0 {
		a.Unread = append(a.Unread[:mostUnread], fmt.Sprintf("%s more submodules and links are not followed", display.Thousands(n)))
	}
	return a
}

// mostUnread is the maximum number of places that Unread describes.
const mostUnread = 20

// Through returns the paths by which a skill is reached: its own path, and the paths through links.
func (a Aside) Through(skill string) []string {
	paths := []string{skill}
	for link, to := range a.Links {
		if skill == to {
			paths = append(paths, link)
		} else if rest, below := strings.CutPrefix(skill, to+"/"); below {
			paths = append(paths, link+"/"+rest)
		}
	}
	return paths
}

// ParseModules returns the URLs of submodules by path, from the text of a .gitmodules.
func ParseModules(text string) map[string]string {
	addresses := map[string]string{}
	var at, url string
	take := func() {
		if at != "" {
			addresses[path.Clean(at)] = url
		}
		at, url = "", ""
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "[") {
			take()
		}
		key, value, _ := strings.Cut(line, "=")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch strings.TrimSpace(key) {
		case "path":
			at = cmp.Or(at, value)
		case "url":
			url = cmp.Or(url, value)
		}
	}
	take()
	return addresses
}
