package console

import (
	"os"

	"golang.org/x/sys/windows"
)

// showsEscapes reports whether a stream understands escape sequences. Consoles of Windows 10 and
// later do once they are asked to; older ones show them as text. Other streams (a file, a pipe,
// another program's terminal) count as understanding.
func showsEscapes(f *os.File) bool {
	console, mode := windows.Handle(f.Fd()), uint32(0)
	if windows.GetConsoleMode(console, &mode) != nil || mode&windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING != 0 {
		return true
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
