//go:build !linux

package main

import "errors"

func keepOn(int, int) (func(), error) {
	return func() {}, errors.New("only Linux keeps a thread on a processor")
}
