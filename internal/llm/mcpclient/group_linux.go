package mcpclient

import (
	"os/exec"
	"syscall"
)

// group starts the program in a new session. So the program has no terminal for questions, and an
// interrupt from the keyboard does not reach it. The program ends with knack, even if knack is
// killed.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
