//go:build unix

package cli_test

import (
	"os"
	"syscall"
)

// becomeNobody gives up the rights of root, to which file modes do not apply.
func becomeNobody() {
	if os.Geteuid() != 0 {
		return
	}
	if err := syscall.Seteuid(65534); err != nil {
		panic(err)
	}
}
