package mcpclient

import (
	"os/exec"
	"syscall"
)

// group gives the program a session of its own: it has no terminal to write a question to, and an
// interrupt from the keyboard does not reach it. The program ends with knack, also if that is
// killed.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
