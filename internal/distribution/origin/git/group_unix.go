//go:build unix

package git

import (
	"os/exec"
	"syscall"
)

// together makes the programs that git starts end with it. end ends those that are left after
// an interrupt. On a terminal they stay in its group of processes, since ssh could ask for
// nothing otherwise; an interrupt from the keyboard then reaches all of them.
func together(cmd *exec.Cmd, terminal bool) (end func()) {
	if terminal {
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		return func() {}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	interrupted := false
	cmd.Cancel = func() error {
		interrupted = true
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	}
	return func() {
		if interrupted {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}
}
