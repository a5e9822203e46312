package settings

import (
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/skill"
)

// serversOfProject refuses the section servers in a project's file.
func serversOfProject(at skill.Position) skill.Problem {
	return skill.Problem{Rule: "config-value", Position: at, Field: "servers",
		Message: "a project's file does not name servers: a clone could otherwise have its own program started",
		Fix:     "write servers in your own " + config.Name + ", or in a file for --config"}
}
