//go:build !unix

package mcpclient

import "os/exec"

// group leaves the program in the group of knack: there are no others here.
func group(*exec.Cmd) {}

// terminate asks nothing: a program here ends when its standard input does.
func terminate(*exec.Cmd) {}

// kill ends the program. What it has started notices that its streams are closed.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
