//go:build unix

package audit

import "syscall"

// openFlags: what has taken the file's place since it was looked at is not waited for.
const openFlags = syscall.O_NONBLOCK
