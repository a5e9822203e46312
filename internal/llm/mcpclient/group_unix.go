//go:build unix && !linux

package mcpclient

import (
	"os/exec"
	"syscall"
)

// group gives the program a session of its own: it has no terminal to ask on, and an interrupt
// from the keyboard does not reach it.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
