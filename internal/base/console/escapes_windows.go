package console

import (
	"os"

	"golang.org/x/sys/windows"
)

// showsEscapes reports whether a stream understands escape sequences. A console of Windows 10
// and later does once it is asked to; an older one shows them as text. What is no console
// decides for itself: a file, a pipe, or the terminal of another program.
func showsEscapes(f *os.File) bool {
	console, mode := windows.Handle(f.Fd()), uint32(0)
	if windows.GetConsoleMode(console, &mode) != nil || mode&windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING != 0 {
		return true
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
