//go:build !linux && !darwin

package edit

// RoomOf returns false: see the file for Linux and macOS.
func RoomOf(string) (Space, bool) { return Space{}, false }
