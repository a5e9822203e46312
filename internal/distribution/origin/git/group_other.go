//go:build !unix

package git

import "os/exec"

// together leaves ending git to the standard library. Programs that git started see their streams
// closed.
func together(*exec.Cmd, bool) (end func()) { return func() {} }
