package supply

import (
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/origin"
)

// Origins returns what reads each kind of source, each made once.
func Origins(s Settings) func(origin.Kind) (origin.Origin, error) { return origins(s) }

// Cache returns the folder of the user's store, or "" if it is not known.
func Cache(env console.Env) string {
	cache, _ := folders(env)
	return cache
}

// Offline reports whether KNACK_OFFLINE keeps this process off the network.
func Offline(env console.Env) (bool, error) { return isOffline(env) }
