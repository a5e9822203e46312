package mcpserver_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// shared is the folder of the fixtures that tests read and do not change.
var shared string

// TestMain writes the shared fixtures. It raises the number of tests that run at the same time,
// because most of the parallel ones wait for a timeout and not for a processor.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "16") // -parallel on the command line wins
	os.Exit(run(m))
}

func run(m *testing.M) int {
	top, err := os.MkdirTemp("", "fixtures")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(top)
	shared = filepath.Join(top, "skills")
	for name, text := range fixtures() {
		if err := write(shared, name, text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}
