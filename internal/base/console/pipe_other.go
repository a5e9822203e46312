//go:build !linux

package console

import "os"

type now struct{}

func (now) write(*os.File, [][]byte) int { return 0 }

func (now) close() {}
