package mcpserver_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain raises the number of tests that run at the same time, because most of the
// parallel ones wait for a timeout and not for a processor.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "16") // -parallel on the command line wins
	os.Exit(m.Run())
}
