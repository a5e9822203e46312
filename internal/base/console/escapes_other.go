//go:build !windows

package console

import "os"

// showsEscapes reports whether a stream understands escape sequences. A terminal does; TERM=dumb
// is checked elsewhere.
func showsEscapes(*os.File) bool { return true }
