//go:build unix

package agents

import (
	"os/exec"
	"syscall"
)

// group makes the end of a client's time end its children too: some clients are started by a
// script, and would run on.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
