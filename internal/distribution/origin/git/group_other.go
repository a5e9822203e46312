//go:build !unix

package git

import "os/exec"

// together does nothing: the standard library ends git, and programs that git started see their
// streams closed.
func together(*exec.Cmd, bool) (end func()) { return func() {} }
