//go:build !linux

package dir

func pickOpener() opener { return rootOpener{} }
