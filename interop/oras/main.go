// Command oras is the program oras, a client of OCI registries, for tests. It is a module of its
// own, so that knack's module does not have its dependencies.
package main

import (
	"os"

	"oras.land/oras/cmd/oras/root"
)

func main() {
	if err := root.New().Execute(); err != nil {
		os.Exit(1)
	}
}
