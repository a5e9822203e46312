// Command oras is the program of that name, a client of OCI registries, for tests. It is in a
// module of its own, so that knack's has no such dependencies.
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
