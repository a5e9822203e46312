package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/skill"
)

// Workflow commands escape characters that end a message, and in a property also those that
// separate properties (github.com/actions/toolkit, packages/core/src/command.ts).
var (
	annotationData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	annotationProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

var annotationLevels = map[skill.Severity]string{
	skill.SeverityError: "error", skill.SeverityWarning: "warning", skill.SeverityInfo: "notice",
}

// printAnnotations prints GitHub's workflow commands. GitHub shows ten of each level for a
// step, so infos are printed only on request.
func printAnnotations(env *console.Env, run *Run) error {
	var b strings.Builder
	for _, f := range run.Findings {
		if f.Severity == skill.SeverityInfo && !run.Infos {
			continue
		}
		fmt.Fprintf(&b, "::%s file=%s", annotationLevels[f.Severity], annotationProperty.Replace(console.Clean(f.Shown)))
		if p := f.Position; p.Line > 0 {
			fmt.Fprintf(&b, ",line=%d,col=%d", p.Line, p.Column)
			if f.Length > 1 {
				fmt.Fprintf(&b, ",endColumn=%d", p.Column+f.Length)
			}
		}
		message := f.Message
		if f.Fix != "" {
			message += "\nfix: " + f.Fix
		}
		fmt.Fprintf(&b, ",title=%s::%s\n", annotationProperty.Replace(string(f.Rule)), annotationData.Replace(console.Clean(message)))
	}
	_, err := io.WriteString(env.Stdout, b.String())
	return err
}
