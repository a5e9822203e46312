//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package edit

import "os"

// lock locks nothing: see [Lock].
func lock(*os.File) error { return nil }

// share locks nothing: see [Share].
func share(*os.File) error { return nil }

// unlockFile unlocks nothing: see [Lock].
func unlockFile(*os.File) {}
