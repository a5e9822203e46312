package distcmd

import (
	"strings"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
)

// isOffline reports whether KNACK_OFFLINE forbids the network. A value that is neither yes nor no
// is refused, since a wrong guess could contact a server.
func isOffline(env console.Env) (bool, error) {
	value := getenv(env, "KNACK_OFFLINE")
	switch strings.ToLower(value) {
	case "1", "true", "yes", "on":
		return true, nil
	case "", "0", "false", "no", "off":
		return false, nil
	}
	return false, command.UsageError("write KNACK_OFFLINE=1, or unset it", "KNACK_OFFLINE is '%s', which is neither yes nor no", display.Echo(value))
}
