//go:build unix

package audit

import "syscall"

// openFlags keeps open from blocking if a pipe has taken the file's place.
const openFlags = syscall.O_NONBLOCK
