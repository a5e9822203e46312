//go:build linux && !(386 || arm || mips || mipsle)

package dir

import "golang.org/x/sys/unix"

// sysFstatat is fstatat(2), which fills a [unix.Stat_t].
const sysFstatat = unix.SYS_NEWFSTATAT
