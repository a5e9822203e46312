//go:build !linux

package cli

import "os"

func writeNow(*os.File, []byte) int { return 0 }
