package edit

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestWithoutOpenat2 repeats the tests of links without openat2, as on an old kernel.
func TestWithoutOpenat2(t *testing.T) {
	was := openat2
	defer func() { openat2 = was }()
	openat2 = func(string, *unix.OpenHow) (int, error) { return -1, unix.ENOSYS }
	t.Run("NoLinkInPath", TestNoLinkInPath)
	t.Run("LinksOfClones", TestLinksOfClones)
	t.Run("Tree", TestTree)
}
