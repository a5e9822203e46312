//go:build !windows

package console

import "os"

// showsEscapes reports whether a stream understands escape sequences. A terminal does;
// TERM=dumb says otherwise.
func showsEscapes(*os.File) bool { return true }
