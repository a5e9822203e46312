//go:build !linux && !darwin

package edit

// RoomOf returns false: it is implemented only for Linux and macOS.
func RoomOf(string) (Space, bool) { return Space{}, false }
