//go:build !unix

package agents

import "os/exec"

// group does nothing: clients run only on Unix.
func group(*exec.Cmd) {}
