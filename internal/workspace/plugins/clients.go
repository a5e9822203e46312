package plugins

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/plugin"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/base/semver"
)

// The scopes of a plugin of Claude Code. A later scope has precedence over an earlier one.
var scopes = []string{"user", "project", "local"}

// claude reads installed_plugins.json. Three files enable plugins: the user's settings, the
// project's settings, and the user's settings for the project. The last of these files that
// mentions a plugin decides.
func (f *finder) claude() {
	installed := table(f.values(f.below("plugins/installed_plugins.json")), "plugins")
	user := table(f.values(f.below("settings.json")), "enabledPlugins")
	markets := f.values(f.below("plugins/known_marketplaces.json"))
	type settings struct{ local, project object }
	projects := map[string]settings{}
	for _, p := range f.Projects {
		projects[p] = settings{
			table(f.values(filepath.Join(p, ".claude", "settings.local.json")), "enabledPlugins"),
			table(f.values(filepath.Join(p, ".claude", "settings.json")), "enabledPlugins"),
		}
	}
	if len(projects) == 0 {
		projects[""] = settings{}
	}
	used := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(installed)) {
		_, marketplace, ok := split(id)
		all, _ := installed[id].([]any)
		for _, x := range all {
			entry, _ := x.(object)
			used[filepath.Clean(text(entry, "installPath"))] = true
		}
		if !ok {
			f.damaged(id, "its name is not one that a plugin may have")
			continue
		}
		var entry object
		enabled, by := false, "it is installed for other projects"
		for _, project := range slices.Sorted(maps.Keys(projects)) {
			e := installedIn(all, project)
			if e == nil || enabled {
				continue
			}
			entry = e
			s := projects[project]
			on, set, at := flag(id, s.local, s.project, user)
			enabled, by = on, "no settings enable it"
			if set {
				by = f.Shown([]string{filepath.Join(project, ".claude", "settings.local.json"), filepath.Join(project, ".claude", "settings.json"), f.below("settings.json")}[at]) + " says so"
			}
		}
		known := table(markets, marketplace)
		source := table(known, "source")
		folder := text(source, "path")
		if text(source, "source") == "directory" && filepath.IsAbs(folder) && entry != nil {
			f.live(id, enabled, by, folder)
			continue
		}
		var offered *plugin.Offer
		clone := text(known, "installLocation")
		if enabled && clone != "" && realpath.Inside(f.below("plugins/marketplaces"), clone) {
			name, _, _ := split(id)
			offered = f.market(clone).entries[name]
		}
		f.load(id, enabled, by, text(entry, "installPath"), f.below(f.cache), offered)
	}
	f.orphans(func(id, at string) bool { return used[at] })
}

// installedIn returns the entry of a plugin that applies in a project, or nil. Of several entries,
// the one with the highest scope applies; see [scopes]. Of several with the same scope, the one
// that was updated last applies.
func installedIn(all []any, project string) (entry object) {
	rank := func(e object) int { return slices.Index(scopes, cmp.Or(text(e, "scope"), "user")) }
	for _, x := range all {
		e, _ := x.(object)
		path := text(e, "projectPath")
		switch {
		case e == nil || rank(e) < 0:
		case rank(e) > 0 && (project == "" || !filepath.IsAbs(path) || !realpath.Same(path, project)):
		case entry == nil || cmp.Or(rank(e)-rank(entry), strings.Compare(text(e, "lastUpdated"), text(entry, "lastUpdated"))) > 0:
			entry = e
		}
	}
	return entry
}

// codex reads config.toml. The plugins are in the cache, with a folder for each version.
func (f *finder) codex() {
	file := f.below("config.toml")
	config := f.values(file)
	plugins := table(config, "plugins")
	off, by := false, f.Shown(file)+" says so"
	if on, set, _ := flag("plugins", table(config, "features")); set && !on {
		off, by = true, f.Shown(file)+" turns plugins off"
	}
	for _, id := range slices.Sorted(maps.Keys(plugins)) {
		plugin, marketplace, ok := split(id)
		if !ok || marketplace == "" {
			f.damaged(id, "its name is not one that a plugin may have")
			continue
		}
		enabled, set, _ := flag("enabled", table(plugins, id))
		at := f.below(filepath.Join(f.cache, marketplace, plugin))
		f.load(id, (enabled || !set) && !off, by, filepath.Join(at, newest(f.names(at))), f.below(f.cache), nil)
	}
	f.orphans(func(id, _ string) bool { return plugins[id] != nil })
}

// newest returns the version that Codex loads: a local one, or the highest.
func newest(versions []string) string {
	if slices.Contains(versions, "local") {
		return "local"
	}
	if len(versions) == 0 {
		return "unknown"
	}
	return slices.MaxFunc(versions, func(a, b string) int {
		x, okX := semver.Parse(a)
		y, okY := semver.Parse(b)
		if okX && okY {
			return x.Compare(y)
		}
		return strings.Compare(a, b)
	})
}

// extensions reads the folders of Gemini CLI's and Qwen Code's extensions, and the rules that
// enable them. An extension that was linked is read in place.
func (f *finder) extensions() {
	file := f.below("extensions/extension-enablement.json")
	rules := f.values(file)
	for _, folder := range f.names(f.below(f.cache)) {
		at, within := f.below(filepath.Join(f.cache, folder)), f.below(f.cache)
		origin := f.values(filepath.Join(at, "."+strings.TrimSuffix(f.manifests[0], ".json")+"-install.json"))
		if to := text(origin, "source"); text(origin, "type") == "link" && filepath.IsAbs(to) {
			at, within = to, to
		}
		f.load(folder, f.enabledByRules(texts(table(rules, folder)["overrides"])), f.Shown(file)+" says so", at, within, nil)
	}
}

// enabledByRules reports whether rules enable an extension in one of the projects. The rule
// "/folder/" matches a folder, "/folder/*" also everything in it, and "!" before a rule disables.
// The last rule that matches decides.
func (f *finder) enabledByRules(rules []string) bool {
	projects := f.Projects
	if len(projects) == 0 {
		projects = []string{string(filepath.Separator)}
	}
	return slices.ContainsFunc(projects, func(project string) bool {
		enabled := true
		at := strings.TrimSuffix(filepath.ToSlash(project), "/") + "/"
		for _, rule := range rules {
			rule, not := strings.CutPrefix(rule, "!")
			folder, below := strings.CutSuffix(rule, "*")
			folder = strings.TrimSuffix(folder, "/") + "/"
			if at == folder || below && strings.HasPrefix(at, folder) {
				enabled = !not
			}
		}
		return enabled
	})
}

// copilot reads config.json, which lists the copied plugins and whether each is enabled. For a
// plugin of a marketplace, settings.json has precedence. It also enables the plugins of
// marketplaces that are folders. Files of a project have no effect.
func (f *finder) copilot() {
	file := f.below("settings.json")
	settings := f.values(file)
	enabled := table(settings, "enabledPlugins")
	copies, _ := f.values(f.below("config.json"))["installedPlugins"].([]any)
	seen, used := map[string]bool{}, map[string]bool{}
	for _, x := range copies {
		entry, _ := x.(object)
		id, own := text(entry, "name"), object{}
		if m := text(entry, "marketplace"); m != "" {
			id, own = id+"@"+m, enabled
		}
		if id == "" || seen[id] {
			continue
		}
		at := text(entry, "cache_path")
		seen[id], used[filepath.Clean(at)] = true, true
		on, set, _ := flag(id, own, object{id: entry["enabled"]})
		f.load(id, on || !set, f.Shown(file)+" says so", at, f.below(f.cache), nil)
	}
	for _, id := range slices.Sorted(maps.Keys(enabled)) {
		_, marketplace, ok := split(id)
		source := table(settings, "extraKnownMarketplaces", marketplace, "source")
		at := text(source, "path")
		switch on, _, _ := flag(id, enabled); {
		case seen[id] || marketplace == "":
		case !ok:
			f.damaged(id, "its name is not one that a plugin may have")
		case text(source, "source") == "directory" && filepath.IsAbs(at):
			f.live(id, on, f.Shown(file)+" says so", at)
		case on:
			f.damaged(id, "it is enabled, and not installed")
		}
	}
	f.orphans(func(_, at string) bool { return used[at] })
}

// cursor lists the plugins in Cursor's folders. Whether a plugin is enabled is unknown: no file is
// known to record it.
func (f *finder) cursor() {
	if !f.All {
		return
	}
	for _, plugin := range f.names(f.below("plugins/local")) {
		f.unknown(plugin, f.below("plugins/local/"+plugin))
	}
	f.versions(f.below("plugins/cache"), f.unknown)
}

func (f *finder) unknown(id, at string) {
	plugin, _, _ := split(id)
	f.add(Plugin{ID: id, Name: plugin, State: Unknown, Dir: at, Reason: "nothing in Cursor's files says whether it is enabled", Fix: "to serve its skills, name its folder with --dir"})
}

// orphans records the plugins in the client's cache that are not installed.
func (f *finder) orphans(installed func(id, at string) bool) {
	if !f.All {
		return
	}
	f.versions(f.below(f.cache), func(id, at string) {
		if !installed(id, at) {
			plugin, _, _ := split(id)
			f.add(Plugin{ID: id, Name: plugin, State: Orphaned, Dir: at, Reason: "it is in the cache, and not installed", Fix: "to use it: " + fmt.Sprintf(f.install, display.Echo(id))})
		}
	})
}

// versions calls do for each version of each plugin in a cache.
func (f *finder) versions(cache string, do func(id, at string)) {
	for _, marketplace := range f.names(cache) {
		for _, plugin := range f.names(filepath.Join(cache, marketplace)) {
			at := filepath.Join(cache, marketplace, plugin)
			if f.agent == "copilot-cli" { // its cache has no folders for versions
				do(strings.TrimSuffix(plugin+"@"+marketplace, "@_direct"), at)
				continue
			}
			for _, version := range f.names(at) {
				do(plugin+"@"+marketplace, filepath.Join(at, version))
			}
		}
	}
}
