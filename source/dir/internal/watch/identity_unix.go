//go:build unix

package watch

import (
	"os"
	"syscall"
)

func identify(path string) identity {
	fi, err := os.Stat(path)
	if err != nil {
		return identity{}
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{uint64(st.Dev), uint64(st.Ino)} // their types differ between systems
}
