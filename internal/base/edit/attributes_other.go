//go:build !linux

package edit

// copyAttributes does nothing: see [Replace].
func copyAttributes(string, string) error { return nil }
