package doctor

import "github.com/knack-dev/knack/internal/base/realpath"

// Plugin is a plugin of a client on this machine.
type Plugin struct {
	Client string `json:"client"`
	ID     string `json:"id,omitempty"` // NAME@MARKETPLACE, or only the name; "" for a fault of the client's files
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	Fix    string `json:"fix,omitempty"`
	Root   string `json:"root,omitempty"` // the label of the plugin's root, if its skills are served
	Dir    string `json:"dir,omitempty"`
}

// PluginTitle returns a title for a plugin. Without an id, it is a title for the plugins of a
// client.
func PluginTitle(client, id string) string {
	if id == "" {
		return "plugins of " + client
	}
	return "plugin " + id + " of " + client
}

// Title returns the title of the plugin.
func (p Plugin) Title() string { return PluginTitle(p.Client, p.ID) }

// Why describes the plugin's state, with the fix.
func (p Plugin) Why() string {
	why := p.State
	if p.Reason != "" {
		why += ": " + p.Reason
	}
	if p.Fix != "" {
		why += "; " + p.Fix
	}
	return why
}

// pluginAt returns the plugin that contains a folder and is not served, or nil.
func (o Options) pluginAt(at string) *Plugin {
	for i := range o.Plugins {
		if p := &o.Plugins[i]; p.Root == "" && p.Dir != "" && realpath.Within(p.Dir, at) {
			return p
		}
	}
	return nil
}
