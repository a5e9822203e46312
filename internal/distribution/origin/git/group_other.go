//go:build !unix

package git

import "os/exec"

// together does nothing: the standard library ends git, and closes the streams of the programs that
// git started.
func together(*exec.Cmd, bool) (end func()) { return func() {} }
