package tool

import (
	"maps"
	"slices"
	"testing"

	"github.com/knack-dev/knack/catalog"
)

// offeredHost has skills of which each set loads only some.
func offeredHost(t *testing.T) *Host {
	t.Helper()
	broken := "---\nname: broken\n---\n"
	hidden := "---\nname: hidden\ndescription: d\ndisable-model-invocation: true\n---\n"
	return hostOf(t,
		project(map[string]string{
			"git/SKILL.md": md("git", "d"), "other/SKILL.md": md("Odd Name", "d"), "elsewhere/SKILL.md": md("named", "d"), "lower/skill.md": md("lower", "d"),
			"broken/SKILL.md": broken, "hidden/SKILL.md": hidden, "twice/SKILL.md": md("git", "again"), "latin/SKILL.md": "---\nname: latin\ndescription: caf\xe9\n---\n",
		}),
		global(map[string]string{"git/SKILL.md": md("git", "mine"), "deep/lower/SKILL.md": md("deeper", "d")}),
	)
}

// loadedBy maps each set to the number of skills of [offeredHost] that it loads.
var loadedBy = map[string]int{"wave": 2, "universal": 5, "default": 5, "runner": 5, "uri": 7, "wave,uri": 7, "wave,universal": 5}

// TestOfferedLoads checks that Offered returns the skills that the served tools load. It calls each
// tool for each skill, under every possible name.
func TestOfferedLoads(t *testing.T) {
	h := offeredHost(t)
	v := viewOf(t, h)
	for set, want := range loadedBy {
		tools, err := ParseSets(set)
		if err != nil {
			t.Fatal(err)
		}
		loaded := map[*catalog.Entry]bool{}
		for _, tl := range tools {
			for _, e := range v.Entries {
				var a args
				switch {
				case tl.Contract == "000" && tl.Name == "get_skill" && v.InFolder(e.Folder()) == e:
					a = args{"skill_name": e.Folder()}
				case tl.Contract == "002" && e.Status == catalog.Available:
					a = args{"name": e.Name}
				case tl.Contract == "003" && (e.Status == catalog.Available || e.Status == catalog.Skipped):
					a = args{"skill_name": e.Name}
				case tl.Contract == "004" && tl.Name == "get_skill":
					a = args{"uri": e.URI().String()}
				default:
					continue
				}
				if r := call(t, h, set, tl.Name, a); !r.IsError && !r.Absent {
					loaded[e] = true
				}
			}
		}
		offered := Offered(v, tools)
		if len(offered) != want || len(offered) != len(loaded) || slices.ContainsFunc(offered, func(e *catalog.Entry) bool { return !loaded[e] }) {
			t.Errorf("%s: %d are offered, %d load: %v", set, len(offered), len(loaded), slices.Collect(maps.Keys(loaded)))
		}
	}
}
