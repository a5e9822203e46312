//go:build unix

package agents

import (
	"os/exec"
	"syscall"
)

// group makes a timeout end a client's children too: some clients are started by a script,
// and would keep running.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
