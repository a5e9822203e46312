// Package plugins judges plugins and marketplaces on disk. Package plugin judges their files. This
// package also examines the folders to which the files refer. A finding describes how a client that
// conforms to Agent Plugins 1.0.0 behaves, and how today's clients differ. The package runs nothing
// and connects to nothing.
package plugins

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/plugin"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Finding is a finding in a file of a plugin or a marketplace.
type Finding struct {
	check.Finding // File is below the judged folder
	// Text is the file's text for excerpts, or nil.
	Text *check.Source
}

// State is the way in which a client that conforms to Agent Plugins treats a plugin.
type State string

// The states.
const (
	Loads    State = "loads"
	Rejected State = "rejected"
	Absent   State = "absent" // the plugin has no plugin.json at its root, so only some clients load it
)

// Plugin is a judged plugin.
type Plugin struct {
	Folder        string // below the judged folder; "." for that folder itself
	Name, Version string
	Manifests     []string // the files below Folder
	State         State
	// Skills are the folders of the skills that a client discovers (§7.1). Outside are the folders
	// and files that a client skips because they lead out of the plugin. This package does not
	// judge whether a skill is valid.
	Skills, Outside []string
	// Servers are the MCP servers that a client uses. Skipped are the other servers.
	Servers, Skipped []string
	// Disabled is set if a client uses no server because mcp.json as a whole has a fault.
	Disabled bool
}

// Marketplace is a judged marketplace.
type Marketplace struct {
	File     string
	Name     string
	Rejected bool
	Plugins  []string // the names of the plugins that can be installed
	Skipped  []string // the names of the other plugins
}

// Report is the verdict on a folder.
type Report struct {
	Plugins      []*Plugin
	Marketplaces []*Marketplace
	Findings     []Finding
}

// Root returns the folder of the plugin or marketplace to which a file belongs. The path of the
// file is slash-separated. ok is false if the file belongs to neither.
func Root(file string) (root string, ok bool) {
	all := slices.Concat(plugin.Manifests, plugin.Marketplaces, []plugin.File{{Path: plugin.ServersFile}})
	slices.SortStableFunc(all, func(a, b plugin.File) int { return cmp.Compare(len(b.Path), len(a.Path)) })
	for _, f := range all {
		if file == f.Path {
			return ".", true
		}
		if root, ok = strings.CutSuffix(file, "/"+f.Path); ok {
			return cmp.Or(root, "/"), true
		}
	}
	return "", false
}

// Judge judges the plugin and the marketplaces in the folder at an absolute path, and the plugins
// below it that the marketplaces list. The report is nil if there is neither. asked is set if the
// user named a file of the plugin. Otherwise, a plugin.json counts only if its content or its
// folder looks like a plugin for agents.
func Judge(ctx context.Context, folder string, asked bool) (*Report, error) {
	root, err := dir.OpenPackage(folder)
	if err != nil {
		return nil, err
	}
	j := &pluginReader{root: root, plugins: map[string]*Plugin{}}
	for _, f := range plugin.Marketplaces {
		if err := j.marketplace(ctx, f); err != nil {
			return nil, err
		}
	}
	if j.isPlugin(asked) {
		if err := j.plugin(ctx, ".", nil); err != nil {
			return nil, err
		}
	}
	if len(j.report.Plugins)+len(j.report.Marketplaces) == 0 {
		return nil, nil
	}
	j.sort()
	return &j.report, nil
}

// sort sorts the findings of each file by position. The order of the files stays the same.
func (j *pluginReader) sort() {
	order := map[string]int{}
	for i, f := range j.report.Findings {
		if _, ok := order[f.File]; !ok {
			order[f.File] = i
		}
	}
	slices.SortStableFunc(j.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
	})
}

// Is reports whether the folder at an absolute path is a plugin or contains a marketplace.
func Is(folder string) bool {
	root, err := dir.OpenPackage(folder)
	if err != nil {
		return false
	}
	return (&pluginReader{root: root}).isPlugin(false) || slices.ContainsFunc(plugin.Marketplaces, func(f plugin.File) bool {
		_, err := fs.Stat(root, f.Path)
		return err == nil
	})
}

type pluginReader struct {
	root    *dir.Package
	report  Report
	plugins map[string]*Plugin // by folder
}

// isPlugin reports whether the judged folder is a plugin. A plugin.json alone does not prove it,
// since other programs also use files with this name.
func (j *pluginReader) isPlugin(asked bool) bool {
	exists := func(name string) bool {
		_, err := fs.Stat(j.root, name)
		return err == nil || !errors.Is(err, fs.ErrNotExist) || dangling(j.root, name)
	}
	for _, f := range plugin.Manifests[1:] {
		if exists(f.Path) {
			return true
		}
	}
	own := plugin.Manifests[0].Path
	if !exists(own) {
		return false
	}
	if asked || exists(plugin.SkillsFolder) || exists(plugin.ServersFile) {
		return true
	}
	data, _, err := skill.ReadFile(j.root, own, plugin.MaxManifest)
	if err != nil {
		return true
	}
	m, _ := plugin.ParseManifest(data, plugin.Portable)
	return m == nil || plugin.DeclaresSchema(m.Schema)
}

// file is a file that was read. It holds the data that is needed to report its faults.
type file struct {
	path string // below the judged folder
	data []byte
	text *check.Source
	at   func(offset int) skill.Position
}

// read reads a file of a plugin or marketplace. If the file cannot be read, read reports a finding
// of the given rule with the effect bad. It returns nil if the file does not exist.
func (j *pluginReader) read(fsys fs.FS, folder, name string, most int64, rule string, bad plugin.Effect) *file {
	f := &file{path: path.Join(folder, name)}
	data, _, err := skill.ReadFile(fsys, name, most)
	if errors.Is(err, fs.ErrNotExist) {
		if !dangling(fsys, name) {
			return nil
		}
	}
	if err != nil {
		message, fix := "it cannot be read: "+skill.Reason(err), "make it a readable file in the plugin"
		switch {
		case errors.Is(err, skill.ErrOutside):
			message, fix = "it is a link that leads out of the folder, and no client may follow it", "replace it by the file"
		case errors.Is(err, skill.ErrNotRegular):
			message, fix = "it is not a regular file", "replace it by a file"
		case errors.Is(err, skill.ErrTooLarge):
			message, fix = "it has more than "+strconv.FormatInt(most>>20, 10)+" MiB"+", which knack does not read", "make it smaller"
		case errors.Is(err, fs.ErrNotExist):
			message, fix = "it is a link that leads nowhere", "replace it by the file"
		}
		j.add(f, plugin.Fault{Rule: rule, Effect: bad, Message: message, Fix: fix})
		return f
	}
	f.data, f.text, f.at = data, check.NewSource(data), check.Places(string(data))
	return f
}

// dangling reports whether a name is a link whose target is missing.
func dangling(fsys fs.FS, name string) bool {
	p, ok := fsys.(*dir.Package)
	if !ok {
		return false
	}
	entries, err := p.Entries(path.Dir(name))
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == path.Base(name) })
}

// add adds a fault of a file to the findings.
func (j *pluginReader) add(f *file, fault plugin.Fault) {
	found := Finding{Text: f.text, Finding: check.Finding{
		Rule: skill.RuleID(fault.Rule), Severity: check.Severities[fault.Effect], File: f.path, Field: fault.Field, Message: fault.Message, Fix: fault.Fix,
	}}
	if f.at != nil && fault.End > 0 {
		found.Position = f.at(fault.At)
		if end := f.at(fault.End); end.Line == found.Position.Line {
			found.Length = end.Column - found.Position.Column
		}
	}
	j.report.Findings = append(j.report.Findings, found)
}

func (j *pluginReader) all(f *file, faults []plugin.Fault) {
	for _, fault := range faults {
		j.add(f, fault)
	}
}

func (j *pluginReader) marketplace(ctx context.Context, market plugin.File) error {
	f := j.read(j.root, ".", market.Path, plugin.MaxMarketplace, plugin.RuleMarket, plugin.Rejects)
	if f == nil {
		return nil
	}
	out := &Marketplace{File: market.Path, Rejected: true}
	j.report.Marketplaces = append(j.report.Marketplaces, out)
	if f.at == nil {
		return nil
	}
	m, faults := plugin.ParseMarketplace(f.data, market.Client)
	j.all(f, faults)
	if m == nil {
		return nil
	}
	out.Name, out.Rejected = m.Name, m.Rejected
	for i, e := range m.Plugins {
		if err := ctx.Err(); err != nil {
			return err
		}
		usable := !e.Skipped
		if e.Source.Kind == plugin.Local {
			found, err := j.entry(ctx, f, m, i)
			if err != nil {
				return err
			}
			usable = usable && found
		}
		if usable && !m.Rejected {
			out.Plugins = append(out.Plugins, e.Name)
		} else {
			out.Skipped = append(out.Skipped, e.Name)
		}
	}
	return nil
}

// entry judges a plugin in the folder of its marketplace, and reports whether it can be loaded.
func (j *pluginReader) entry(ctx context.Context, f *file, m *plugin.Marketplace, i int) (bool, error) {
	e := &m.Plugins[i]
	field := "plugins[" + strconv.Itoa(i) + "]"
	info, err := fs.Stat(j.root, e.Source.Path)
	fault := plugin.Fault{Rule: plugin.RuleMarketPath, Effect: plugin.Skips, At: e.Source.At, End: e.Source.End, Field: field + ".source", Fix: "correct the path, which is below the marketplace's folder, or delete the entry"}
	switch {
	case errors.Is(err, skill.ErrOutside):
		fault.Message = "the plugin's folder is a link that leads out of the marketplace, and no client may follow it"
	case errors.Is(err, fs.ErrNotExist):
		fault.Message = "there is no folder " + display.Quote(e.Source.Path) + " in the marketplace, so the plugin cannot be installed"
	case err != nil:
		fault.Message = "the folder " + display.Quote(e.Source.Path) + " cannot be read: " + skill.Reason(err)
	case !info.IsDir():
		fault.Message = display.Quote(e.Source.Path) + " is a file, and a plugin is a folder"
	}
	if fault.Message != "" {
		j.add(f, fault)
		return false, nil
	}
	if err := j.plugin(ctx, e.Source.Path, e); err != nil {
		return false, err
	}
	usable := true
	fsys, err := j.root.Sub(e.Source.Path)
	if err != nil {
		return false, nil // the folder has just changed
	}
	claude := j.manifest(fsys, plugin.Manifests[1])
	if !e.Strict && m.Client == plugin.Claude && claude != nil && len(claude.Components) > 0 {
		usable = false
		j.add(f, plugin.Fault{
			Rule: plugin.RuleMarketStrict, Effect: plugin.Skips, At: e.StrictAt.At, End: e.StrictAt.End, Field: field + ".strict",
			Message: "strict is false, and the plugin's own manifest defines " + strings.Join(claude.Components, " and ") + " too; Claude Code reports conflicting manifests and loads nothing",
			Fix:     "delete strict, or delete these fields from " + path.Join(e.Source.Path, plugin.Manifests[1].Path),
		})
	}
	for k, p := range e.Skills {
		if _, err := fs.Stat(fsys, p); err != nil {
			j.add(f, plugin.Fault{
				Rule: plugin.RuleMarketPath, Effect: plugin.Ignores, At: e.SkillsAt[k].At, End: e.SkillsAt[k].End, Field: field + ".skills",
				Message: "there is no folder " + display.Quote(p) + " in the plugin", Fix: "correct the path, which is below the plugin's folder, or delete it",
			})
		}
	}
	return usable, nil
}

// manifest returns the manifest of a client, or nil if there is no readable one.
func (j *pluginReader) manifest(fsys fs.FS, declared plugin.File) *plugin.Manifest {
	data, _, err := skill.ReadFile(fsys, declared.Path, plugin.MaxManifest)
	if err != nil {
		return nil
	}
	m, _ := plugin.ParseManifest(data, declared.Client)
	return m
}
