package console

import (
	"os"

	"golang.org/x/sys/windows"
)

// forgetKeys drops what a terminal has received and no program has read.
func forgetKeys(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }
