package console

import (
	"os"

	"golang.org/x/sys/windows"
)

// showsEscapes reports whether a stream understands escape sequences. A console of Windows 10 or
// later understands them once a program turns them on, which showsEscapes does. An older console
// shows them as text. Any other stream (a file, a pipe, another program's terminal) is assumed to
// understand them.
func showsEscapes(f *os.File) bool {
	console, mode := windows.Handle(f.Fd()), uint32(0)
	if windows.GetConsoleMode(console, &mode) != nil || mode&windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING != 0 {
		return true
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
