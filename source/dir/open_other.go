//go:build !linux

package dir

func pickDoor() door { return rootDoor{} }
