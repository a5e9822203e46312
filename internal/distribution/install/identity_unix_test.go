//go:build unix

package install_test

import (
	"io/fs"
	"syscall"
)

func identity(info fs.FileInfo) any { return info.Sys().(*syscall.Stat_t).Ino }
