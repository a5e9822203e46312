//go:build unix

package agents

import (
	"os/exec"
	"syscall"
)

// group makes a timeout end the client's children, too. Some clients are started by a script and
// would otherwise keep running.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
