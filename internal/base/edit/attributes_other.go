//go:build !linux

package edit

// copyAttributes does nothing: see [Replace].
func copyAttributes(*temporary, string) error { return nil }
