package settings

import "github.com/knack-dev/knack/internal/workspace/config"

// LockMode returns the value of the key lock in the file in effect, or in the user's file if
// inEffect is nil. It applies even to a server on stdio, which ignores most of the user's file.
func (s *Finder) LockMode(inEffect *File) string {
	if inEffect == nil {
		inEffect, _ = s.userFile() // the commands that need the file report its faults
	}
	if inEffect == nil {
		return config.LockWarn
	}
	return config.LockIn(inEffect.Data)
}
