package settings

import (
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/workspace/config"
)

// LockMode returns the value of the key lock in the file in effect, or in the user's file if
// inEffect is nil. A server on stdio obeys it too, although it reads no other settings.
func LockMode(env *console.Env, inEffect *File) string {
	if inEffect != nil {
		return config.LockIn(inEffect.Data)
	}
	at := New(env, "").UserFile()
	if at == "" {
		return config.LockWarn
	}
	data, err := ReadUserFile(at)
	if err != nil {
		return config.LockWarn // the commands that need the file report that
	}
	return config.LockIn(data)
}
