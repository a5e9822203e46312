//go:build !linux

package main

import "errors"

func pin(int) error { return errors.New("only Linux keeps a process on a processor") }

func unpin() error { return nil }
