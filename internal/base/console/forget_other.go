//go:build !linux && !darwin && !windows

package console

import "os"

// forgetKeys does nothing: keys typed ahead become the next line.
func forgetKeys(*os.File) {}
