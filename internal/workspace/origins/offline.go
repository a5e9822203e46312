package origins

import (
	"strings"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// Offline reports whether KNACK_OFFLINE forbids the network. A value that is neither yes nor no
// is refused, since a wrong guess could contact a server.
func Offline(env *console.Env) (bool, error) {
	value := env.Variable("KNACK_OFFLINE")
	switch strings.ToLower(value) {
	case "1", "true", "yes", "on":
		return true, nil
	case "", "0", "false", "no", "off":
		return false, nil
	}
	return false, settings.UsageError("write KNACK_OFFLINE=1, or unset it", "KNACK_OFFLINE is '%s', which is neither yes nor no", display.Echo(value))
}
