package plugins

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/plugin"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// plugin judges the plugin in a folder of the root, unless it has already been judged. e is the
// entry of the plugin in a marketplace, or nil.
func (j *pluginReader) plugin(ctx context.Context, folder string, e *plugin.Offer) error {
	if j.plugins[folder] != nil {
		return nil
	}
	p := &Plugin{Folder: folder, State: Absent}
	j.plugins[folder] = p
	j.report.Plugins = append(j.report.Plugins, p)
	if e != nil {
		p.Name, p.Version = e.Name, e.Version
	}
	fsys, err := j.root.Sub(folder)
	if err != nil {
		return err
	}
	var portable *plugin.Manifest
	var own *file
	var named []string // folders besides skills/ that a client reads for skills
	for _, declared := range plugin.Manifests {
		f := j.read(fsys, folder, declared.Path, plugin.MaxManifest, plugin.RuleFile, plugin.Rejects)
		if f == nil {
			continue
		}
		p.Manifests = append(p.Manifests, declared.Path)
		var m *plugin.Manifest
		var faults []plugin.Fault
		if f.at != nil {
			m, faults = plugin.ParseManifest(f.data, declared.Client)
		}
		if declared.Client == plugin.Portable {
			own, portable = f, m
			if p.State = Rejected; m != nil && !m.Rejected {
				p.State = Loads
			}
			if m != nil && !plugin.DeclaresSchema(m.Schema) && j.hasNative(fsys) {
				faults = undeclared(faults)
			}
		}
		j.all(f, faults)
		if m == nil {
			continue
		}
		if m.Name != "" && (p.Name == "" || declared.Client == plugin.Portable) {
			p.Name, p.Version = m.Name, m.Version
		}
		for i, s := range m.Skills {
			named = append(named, s)
			if _, err := fs.Stat(fsys, s); err != nil {
				effect := plugin.Ignores
				if s == plugin.SkillsFolder {
					effect = plugin.Notes // generators write it for every plugin
				}
				j.add(f, plugin.Fault{Rule: plugin.RulePath, Effect: effect, At: m.SkillsAt[i].At, End: m.SkillsAt[i].End, Field: "skills",
					Message: "there is no folder " + display.Quote(s) + " in the plugin", Fix: "correct the path, which is below the plugin's folder, or delete it"})
			}
		}
	}
	if e != nil {
		named = append(named, e.Skills...)
	}
	if own == nil {
		at := folder
		if len(p.Manifests) > 0 {
			at = path.Join(folder, p.Manifests[0])
		}
		j.add(&file{path: at}, plugin.Fault{Rule: plugin.RuleManifest, Effect: plugin.Notes,
			Message: "the plugin has no plugin.json at its root, so clients that know Agent Plugins alone do not load it",
			Fix:     "add a plugin.json with $schema and name, if the plugin is for every client"})
	}
	if err := j.skills(ctx, fsys, p, named); err != nil {
		return err
	}
	if own != nil {
		schema := ""
		if portable != nil {
			schema = portable.Schema
		}
		j.servers(fsys, p, schema)
	}
	if p.State == Rejected {
		p.Skills, p.Servers = nil, nil
	}
	return nil
}

// hasNative reports whether a plugin has the manifest of a single client.
func (j *pluginReader) hasNative(fsys fs.FS) bool {
	return slices.ContainsFunc(plugin.Manifests[1:], func(f plugin.File) bool {
		_, err := fs.Stat(fsys, f.Path)
		return err == nil
	})
}

// undeclared reduces the effects of the faults of a plugin.json that declares no version of Agent
// Plugins. Today's clients load such a plugin by their own manifests, so the faults are not errors.
func undeclared(faults []plugin.Fault) []plugin.Fault {
	for i := range faults {
		faults[i].Effect = min(faults[i].Effect, plugin.Ignores)
	}
	return faults
}

// The limits of the search for skills that no client finds.
const (
	maxBelow = 6      // levels below skills/
	maxSeen  = 20_000 // entries
	maxDeep  = 100    // findings of one plugin
)

// skills finds the skills of a plugin. It reports skills in places where only some clients look.
func (j *pluginReader) skills(ctx context.Context, fsys *dir.Package, p *Plugin, named []string) error {
	at := func(name string) *file { return &file{path: path.Join(p.Folder, name)} }
	if main, err := fsys.Entries("."); err == nil && hasMain(main) {
		effect, fix := plugin.Ignores, "move it to skills/NAME/SKILL.md"
		if slices.Contains(named, ".") {
			effect = plugin.Notes
		}
		j.add(at(skill.MainFile), plugin.Fault{Rule: plugin.RulePlace, Effect: effect, Message: "a SKILL.md at the plugin's root is a skill for Claude Code and Copilot, and for no other client", Fix: fix})
	}
	info, err := fs.Stat(fsys, plugin.SkillsFolder)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !dangling(fsys, plugin.SkillsFolder):
		return nil
	case errors.Is(err, skill.ErrOutside):
		j.add(at(plugin.SkillsFolder), plugin.Fault{Rule: plugin.RuleSkills, Effect: plugin.Disables, Message: "skills is a link that leads out of the plugin, so clients load no skill", Fix: "replace it by the folder"})
		return nil
	case err != nil:
		j.add(at(plugin.SkillsFolder), plugin.Fault{Rule: plugin.RuleSkills, Effect: plugin.Disables, Message: "skills cannot be read, so clients load no skill: " + skill.Reason(err), Fix: "make it a readable folder in the plugin"})
		return nil
	case !info.IsDir():
		j.add(at(plugin.SkillsFolder), plugin.Fault{Rule: plugin.RuleSkills, Effect: plugin.Disables, Message: "skills is not a folder, so clients load no skill", Fix: "make it a folder with one folder for each skill"})
		return nil
	}
	entries, err := fsys.Entries(plugin.SkillsFolder)
	if err != nil {
		j.add(at(plugin.SkillsFolder), plugin.Fault{Rule: plugin.RuleSkills, Effect: plugin.Disables, Message: "skills cannot be listed: " + skill.Reason(err), Fix: "make it a readable folder in the plugin"})
		return nil
	}
	if hasMain(entries) {
		j.add(at(plugin.SkillsFolder+"/"+skill.MainFile), plugin.Fault{Rule: plugin.RulePlace, Effect: plugin.Ignores, Message: "a skill is a folder in skills/, and this file is directly in skills/, so no client finds it", Fix: "move it to skills/NAME/SKILL.md"})
	}
	seen, deep := 0, 0
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		folder := path.Join(plugin.SkillsFolder, e.Name())
		info, err := fs.Stat(fsys, folder)
		if errors.Is(err, skill.ErrOutside) {
			j.outside(p, folder, "the skill's folder is a link that leads out of the plugin, so clients skip the skill")
			continue
		}
		if err != nil || !info.IsDir() {
			continue
		}
		inside, err := fsys.Entries(folder)
		if err != nil {
			continue // the scan of the skills reports it
		}
		if !hasMain(inside) {
			if !realpath.IsLink(e.Type()) {
				j.below(fsys, p, folder, inside, named, 1, &seen, &deep)
			}
			continue
		}
		main, err := fs.Stat(fsys, path.Join(folder, skill.MainFile))
		switch {
		case errors.Is(err, skill.ErrOutside):
			j.outside(p, path.Join(folder, skill.MainFile), "SKILL.md is a link that leads out of the plugin, so clients skip the skill")
		case err == nil && main.Mode().IsRegular():
			p.Skills = append(p.Skills, folder)
		}
	}
	return nil
}

func (j *pluginReader) outside(p *Plugin, name, message string) {
	p.Outside = append(p.Outside, name)
	j.add(&file{path: path.Join(p.Folder, name)}, plugin.Fault{Rule: plugin.RuleOutside, Effect: plugin.Skips, Message: message, Fix: "replace the link by the files, or move them into the plugin and link there"})
}

// below reports the skills below a folder that is not a skill. It follows no link.
func (j *pluginReader) below(fsys *dir.Package, p *Plugin, folder string, entries []fs.DirEntry, named []string, level int, seen, deep *int) {
	for _, e := range entries {
		if *seen++; *seen > maxSeen || *deep == maxDeep {
			return
		}
		if !e.IsDir() {
			continue
		}
		at := path.Join(folder, e.Name())
		inside, err := fsys.Entries(at)
		if err != nil {
			continue
		}
		if !hasMain(inside) {
			if level < maxBelow {
				j.below(fsys, p, at, inside, named, level+1, seen, deep)
			}
			continue
		}
		*deep++
		fault := plugin.Fault{Rule: plugin.RulePlace, Effect: plugin.Ignores,
			Message: "the skill is " + display.Count(level, "level") + " too deep: clients look into skills/" + e.Name() + "/SKILL.md and no deeper, except for Copilot, and for Codex in plugins with a manifest of its own",
			Fix:     "move the folder to " + path.Join(plugin.SkillsFolder, e.Name())}
		if slices.ContainsFunc(named, func(n string) bool { return n == at || n == folder }) {
			fault.Effect = plugin.Notes
			fault.Message = "the skill is " + display.Count(level, "level") + " too deep for clients that do not read the field skills, by which it is named"
		}
		j.add(&file{path: path.Join(p.Folder, at, skill.MainFile)}, fault)
	}
}

// hasMain reports whether a folder contains a file named exactly SKILL.md.
func hasMain(entries []fs.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == skill.MainFile && !e.IsDir() })
}

// servers judges the mcp.json of a plugin that has a plugin.json.
func (j *pluginReader) servers(fsys *dir.Package, p *Plugin, schema string) {
	f := j.read(fsys, p.Folder, plugin.ServersFile, plugin.MaxManifest, plugin.RuleMCPFile, plugin.Disables)
	if f == nil {
		if _, err := fs.Stat(fsys, "."+plugin.ServersFile); err == nil {
			j.add(&file{path: path.Join(p.Folder, "."+plugin.ServersFile)}, plugin.Fault{Rule: plugin.RuleMCPFile, Effect: plugin.Notes,
				Message: "single clients read .mcp.json; every client reads mcp.json", Fix: "add an mcp.json with the servers that are for every client"})
		}
		return
	}
	p.Disabled = true
	if f.at == nil {
		return
	}
	s, faults := plugin.ParseServers(f.data, schema)
	j.all(f, faults)
	if s == nil {
		return
	}
	p.Disabled = s.Disabled
	for _, server := range s.Servers {
		skipped := server.Skipped
		skipped = j.target(fsys, f, server.Command, server.CommandAt, "command", server.Name) || skipped
		skipped = j.target(fsys, f, server.Cwd, server.CwdAt, "cwd", server.Name) || skipped
		for _, t := range server.Fixed {
			if scan.MaskSecrets(t.Text) != t.Text {
				j.add(f, plugin.Fault{Rule: plugin.RuleMCPSecret, Effect: plugin.Ignores, At: t.At, End: t.End, Field: t.Field,
					Message: "it looks like a secret, and the package is readable by everyone who has the plugin", Fix: "revoke it, and let the client sign in or the user set a variable"})
			}
		}
		if skipped || s.Disabled {
			p.Skipped = append(p.Skipped, server.Name)
		} else {
			p.Servers = append(p.Servers, server.Name)
		}
	}
}

// target checks the file or folder that a server names. It reports whether clients skip the server
// because of a fault there.
func (j *pluginReader) target(fsys fs.FS, f *file, name string, at plugin.Span, field, server string) (skipped bool) {
	if name == "" {
		return false
	}
	fault := plugin.Fault{Rule: plugin.RuleMCPPath, Effect: plugin.Ignores, At: at.At, End: at.End, Field: "mcpServers." + display.Echo(server) + "." + field}
	info, err := fs.Stat(fsys, name)
	switch {
	case errors.Is(err, skill.ErrOutside):
		fault.Effect = plugin.Skips
		fault.Message, fault.Fix = field+" is a link that leads out of the plugin, so clients skip the server", "replace the link by the file or folder"
	case errors.Is(err, fs.ErrNotExist):
		fault.Message, fault.Fix = "there is no "+display.Quote(name)+" in the plugin, so the server does not start", "add it, or correct the path"
	case err == nil && field == "cwd" && !info.IsDir(), err == nil && field == "command" && info.IsDir():
		fault.Message, fault.Fix = field+" is a "+map[bool]string{true: "folder", false: "file"}[info.IsDir()]+", so the server does not start", "correct the path"
	default:
		return false
	}
	j.add(f, fault)
	return fault.Effect == plugin.Skips
}
