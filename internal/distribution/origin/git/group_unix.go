//go:build unix

package git

import (
	"os/exec"
	"syscall"
)

// together makes the programs that git starts end together with git. After an interrupt, end kills
// the programs that still run. With a terminal, git and these programs stay in knack's process
// group, since ssh could not ask for a password otherwise. An interrupt from the keyboard reaches
// all of them.
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
