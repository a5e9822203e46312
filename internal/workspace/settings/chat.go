package settings

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/skill"
)

// chatOfProject refuses the section chat in a project's file.
func chatOfProject(at skill.Position) skill.Problem {
	return skill.Problem{Rule: "config-value", Position: at, Field: "chat",
		Message: "a project's file does not say which models are talked to: a clone could otherwise send your words and keys to its own",
		Fix:     "write chat in your own " + config.Name + ", or in a file for --config"}
}

// KeyIn reads the key of an endpoint from a file that chat.models names. No error contains the
// file's content.
func (f *File) KeyIn(name string) (string, error) {
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(f.Path), path)
	}
	key, err := secretIn(path)
	if err != nil {
		hint := HintOf(err, "write into it the key, and nothing else")
		if !errors.Is(err, errSecret) {
			err = readError{err}
		}
		return "", &Error{fmt.Errorf("%s: the key-file %s: %w", f.Shown, display.Echo(name), err), hint, false}
	}
	return key, nil
}
