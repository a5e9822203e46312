package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/skill"
)

// annotationData escapes the characters that end a message of a workflow command.
// annotationProperty also escapes the characters that separate properties
// (github.com/actions/toolkit, packages/core/src/command.ts).
var (
	annotationData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	annotationProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

var annotationLevels = map[skill.Severity]string{
	skill.SeverityError: "error", skill.SeverityWarning: "warning", skill.SeverityInfo: "notice",
}

// printAnnotations prints GitHub's workflow commands. For each step, GitHub shows ten annotations
// of each level.
func printAnnotations(w io.Writer, all []Diagnostic) error {
	var b strings.Builder
	for _, d := range all {
		annotate(&b, d)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// annotate appends a message about a position in a file.
func annotate(b *strings.Builder, d Diagnostic) {
	fmt.Fprintf(b, "::%s file=%s", annotationLevels[d.Severity], annotationProperty.Replace(console.Clean(d.File)))
	if p := d.At; p.Line > 0 {
		fmt.Fprintf(b, ",line=%d,col=%d", p.Line, p.Column)
		if d.Length > 1 {
			fmt.Fprintf(b, ",endColumn=%d", p.Column+d.Length)
		}
	}
	message := d.text("\n")
	if d.Fix != "" {
		message += "\nfix: " + d.Fix
	}
	fmt.Fprintf(b, ",title=%s::%s\n", annotationProperty.Replace(string(d.Rule)), annotationData.Replace(console.Clean(message)))
}
