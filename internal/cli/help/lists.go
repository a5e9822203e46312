package help

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/workspace/config"
)

// settings returns the text of the topic settings, which lists every key of knack.yaml.
func settings(*cobra.Command) string {
	var b strings.Builder
	item(&b, "", "knack.yaml is an optional file of settings. knack config path says which files count, knack config init writes one, and knack config check finds mistakes. In the list, [] stands for each item of a list; knack help settings KEY prints one part of it.")
	return b.String() + Settings("")
}

// Settings describes the key below of knack.yaml and all keys under it, with their values, default
// and meaning. It returns "" if there is no such key.
func Settings(below string) string {
	var b strings.Builder
	for _, k := range config.Keys() {
		if rest, ok := strings.CutPrefix(k.Path, below); !ok || below != "" && rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		values := k.Type
		if k.Default != "" {
			values += "; without it: " + k.Default
		}
		b.WriteString("\n  " + k.Path + "\n")
		item(&b, "      ", values)
		item(&b, "      ", k.Title)
	}
	return b.String()
}

// rules returns the rules of check and of scan with their severity or lane.
func rules(*cobra.Command) string {
	var b strings.Builder
	item(&b, "", "knack check asks for these. In knack.yaml, check.rules.RULE sets another severity, or off.")
	b.WriteString("\n")
	ofScan := map[string]bool{}
	for _, r := range scan.Rules {
		ofScan[string(r.ID)] = true
	}
	for _, r := range check.Rules {
		if !ofScan[string(r.ID)] {
			item(&b, "  ", string(r.ID)+" ("+string(r.Severity)+"): "+r.Title)
		}
	}
	b.WriteString("\n")
	item(&b, "", "knack scan finds these. In knack.yaml, scan.rules.RULE sets another lane, or off.")
	b.WriteString("\n")
	for _, r := range scan.Rules {
		item(&b, "  ", string(r.ID)+" ("+string(r.Lane)+"): "+r.Title)
	}
	return b.String()
}

// item writes a text in lines of at most [Width] columns.
func item(b *strings.Builder, indent, text string) {
	for _, line := range display.Wrap(text, Width-len(indent), Width-len(indent)) {
		b.WriteString(indent + line + "\n")
	}
}
