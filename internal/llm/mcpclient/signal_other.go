//go:build !unix

package mcpclient

import "os/exec"

// group does nothing: this system has no process groups as Unix has.
func group(*exec.Cmd) {}

// terminate does nothing: the program ends when its standard input is closed.
func terminate(*exec.Cmd) {}

// kill ends the program. Programs that it started see their streams closed.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
