package settings

import (
	"bytes"
	"errors"

	"github.com/knack-dev/knack/config"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/skill"
)

// ScanPolicy returns the section scan of the file in effect, or of the user's if that is nil, with
// the file. A server that reads no other settings, since it speaks over standard input and output,
// obeys it too. A user's file with an error is an error only if it has the section: what it holds
// back must not be served because of a typing error.
func ScanPolicy(env *console.Env, inEffect *File) (config.Scan, *File, error) {
	if inEffect != nil {
		return inEffect.Config.Scan, inEffect, nil
	}
	f, err := New(env, "").Trusted()
	refused := (*Error)(nil)
	switch {
	case err == nil && f == nil:
		return config.Scan{}, nil, nil
	case err == nil:
		return f.Config.Scan, f, nil
	case errors.As(err, &refused) && !refused.Usage:
		return config.Scan{}, nil, nil // the commands that need the file say so
	}
	data, readErr := ReadUserFile(New(env, "").UserFile())
	if readErr != nil || bytes.HasPrefix(data, []byte("scan:")) || bytes.Contains(data, []byte("\nscan:")) || bytes.Contains(data, []byte("\rscan:")) {
		return config.Scan{}, nil, err
	}
	return config.Scan{}, nil, nil
}

// scanOfProject refuses the section scan in a project's file.
func scanOfProject(at skill.Position) skill.Problem {
	return skill.Problem{Rule: "config-value", Position: at, Field: "scan",
		Message: "a project's file does not say which skills a server holds back: a clone could otherwise accept its own findings",
		Fix:     "write scan in your own " + config.Name + ", or in a file for --config; check.rules changes what 'knack check' says in this project"}
}
