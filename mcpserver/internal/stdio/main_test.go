package stdio

import (
	"flag"
	"os"
	"testing"
)

// TestMain raises the number of tests that run at the same time, because the parallel ones
// wait for a timeout and not for a processor.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // -parallel on the command line wins
	os.Exit(m.Run())
}
