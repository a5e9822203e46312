package console

import (
	"os"

	"golang.org/x/sys/windows"
)

// forgetKeys drops typed keys that no program has read yet.
func forgetKeys(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }
