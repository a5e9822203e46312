//go:build !linux

package console

import (
	"os"
	"sync/atomic"
)

func writeNow(*os.File, []byte, *atomic.Int64) int { return 0 }
