//go:build unix

package audit

import "syscall"

// openFlags keeps open from blocking if a pipe has replaced the file.
const openFlags = syscall.O_NONBLOCK
