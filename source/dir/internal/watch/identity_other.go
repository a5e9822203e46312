//go:build !unix

package watch

func identify(string) identity { return identity{} }
