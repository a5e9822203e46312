package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/plugins"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Plugin is a judged plugin. Shown is the path of its folder in the form for people.
type Plugin struct {
	*plugins.Plugin
	Shown string
}

// Marketplace is a judged marketplace. Shown is the path of its file in the form for people.
type Marketplace struct {
	*plugins.Marketplace
	Shown string
}

// pluginRow is the JSON form of a plugin. It describes how a client that conforms to Agent Plugins
// treats the plugin.
type pluginRow struct {
	Folder         string        `json:"folder"`
	Name           string        `json:"name,omitempty"`
	Version        string        `json:"version,omitempty"`
	Manifests      []string      `json:"manifests"`
	State          plugins.State `json:"state"`
	Skills         []string      `json:"skills"`
	SkippedSkills  []string      `json:"skippedSkills,omitempty"`
	Servers        []string      `json:"servers"`
	SkippedServers []string      `json:"skippedServers,omitempty"`
	ServersOff     bool          `json:"serversDisabled,omitempty"`
}

type marketplaceRow struct {
	File     string   `json:"file"`
	Name     string   `json:"name,omitempty"`
	Rejected bool     `json:"rejected,omitempty"`
	Plugins  []string `json:"plugins"`
	Skipped  []string `json:"skipped,omitempty"`
}

// validSkills returns the set of the folders, in the form for people, whose skills conform to the
// Agent Skills specification.
func (r *Run) validSkills() map[string]bool {
	valid := map[string]bool{}
	for _, s := range r.Skills {
		valid[s.Folder] = !slices.ContainsFunc(s.Findings, func(f check.Finding) bool {
			rule, _ := check.RuleOf(f.Rule)
			return rule.Source == "spec" && rule.Severity == skill.SeverityError
		})
	}
	return valid
}

// loaded returns the skills that a client loads, and those that it skips (Agent Plugins 7.1).
func (p Plugin) loaded(valid map[string]bool) (loaded, skipped []string) {
	for _, s := range p.Skills {
		if ok, judged := valid[path.Join(p.Shown, s)]; ok || !judged {
			loaded = append(loaded, s)
		} else {
			skipped = append(skipped, s)
		}
	}
	return loaded, append(skipped, p.Outside...)
}

func (p Plugin) row(valid map[string]bool) pluginRow {
	skills, skipped := p.loaded(valid)
	return pluginRow{
		Folder: scan.MaskSecrets(p.Shown), Name: scan.MaskSecrets(p.Name), Version: scan.MaskSecrets(p.Version), Manifests: masked(p.Manifests), State: p.State,
		Skills: masked(skills), SkippedSkills: masked(skipped), Servers: masked(p.Servers), SkippedServers: masked(p.Skipped), ServersOff: p.Disabled,
	}
}

func (m Marketplace) row() marketplaceRow {
	return marketplaceRow{File: scan.MaskSecrets(m.Shown), Name: scan.MaskSecrets(m.Name), Rejected: m.Rejected, Plugins: masked(m.Plugins), Skipped: masked(m.Skipped)}
}

// masked returns the names with masked secrets. The result is not nil.
func masked(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = scan.MaskSecrets(n)
	}
	return out
}

// maxPlugins bounds how many plugins are printed one by one.
const maxPlugins = 10

// printPlugins prints the parts of plugins and marketplaces that clients load.
func (r *Run) printPlugins(p *console.Printer) {
	for _, m := range r.Marketplaces {
		text := display.Count(len(m.Plugins), "plugin")
		if m.Rejected {
			text = "rejected"
		} else if len(m.Skipped) > 0 {
			text += fmt.Sprintf(", %d skipped", len(m.Skipped))
		}
		p.Line("%s: %s", console.Bold.Of(console.OneLine(scan.MaskSecrets(m.Shown))), text)
	}
	if len(r.Plugins) > maxPlugins {
		return
	}
	valid := r.validSkills()
	for _, one := range r.Plugins {
		p.Line("%s: %s", console.Bold.Of(console.OneLine(scan.MaskSecrets(one.Shown))), one.summary(valid))
	}
}

// summary describes in one line how a client that conforms to Agent Plugins treats a
// plugin.
func (p Plugin) summary(valid map[string]bool) string {
	switch p.State {
	case plugins.Rejected:
		return "clients reject the plugin by Agent Plugins 1.0.0"
	case plugins.Absent:
		return "not a plugin by Agent Plugins 1.0.0; single clients load it"
	}
	skills, skipped := p.loaded(valid)
	parts := []string{display.Count(len(skills), "skill")}
	if len(skipped) > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", len(skipped)))
	}
	if n := len(p.Servers) + len(p.Plugin.Skipped); n > 0 {
		parts = append(parts, display.Count(len(p.Servers), "MCP server"))
	}
	if p.Disabled {
		parts = append(parts, "MCP disabled")
	} else if len(p.Plugin.Skipped) > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", len(p.Plugin.Skipped)))
	}
	return "clients load it: " + strings.Join(parts, ", ")
}

// Subjects counts the plugins and skills of the run.
func (r *Run) Subjects() string {
	skills := display.Count(len(r.Skills), "skill")
	if len(r.Plugins) == 0 {
		return skills
	}
	return display.Count(len(r.Plugins), "plugin") + ", " + skills
}
