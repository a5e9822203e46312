package report

import (
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skillsext"
)

// Server is a report on a server.
type Server struct{ *skillsext.Report }

// JSON returns the JSON form.
func (r Server) JSON() any { return r.Report }

// Print implements [command.Result].
func (r Server) Print(env *console.Env) {
	p := env.Out()
	findings := slices.Clone(r.Findings)
	slices.SortStableFunc(findings, func(a, b skillsext.Finding) int { return strings.Compare(a.Skill, b.Skill) })
	last := ""
	for _, f := range findings {
		if f.Skill != last {
			p.Line("%s", console.Bold.Of(f.Skill))
			last = f.Skill
		}
		indent := ""
		if f.Skill != "" {
			indent = "  "
		}
		message := f.Message
		if f.URI != "" {
			message = f.URI + ": " + message
		}
		p.Line("%s%s: %s", indent, console.Red.Of(string(f.Rule)), message)
	}
	p.Line("%s, %s verified, protocol %s: %s",
		display.Count(r.Skills, "skill"), display.Count(r.Files, "file"), r.Protocol, display.Count(len(r.Findings), "finding"))
}
