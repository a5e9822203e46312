package edit_test

import (
	"errors"
	"math"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/knack-dev/knack/internal/base/edit"
)

// TestSpaceFit checks that each file needs a block and an inode, and that large numbers do not
// overflow.
func TestSpaceFit(t *testing.T) {
	room := edit.Space{Bytes: 1 << 20, Block: 4096, Inodes: 100}
	uncounted := room
	uncounted.Inodes = -1
	for _, c := range []struct {
		room edit.Space
		need edit.Extent
		want string
	}{
		{room, edit.Extent{Entries: 100, Bytes: 1<<20 - 100*4096}, ""},
		{room, edit.Extent{Entries: 100, Bytes: 1<<20 - 100*4096 + 1}, "has 1.0 MB left, and the files to write may need 1.0 MB"},
		{room, edit.Extent{Entries: 101}, "has 100 inodes left, and writing needs 101, one for each file and folder"},
		{uncounted, edit.Extent{Entries: 256}, ""},
		{uncounted, edit.Extent{Entries: 257}, "has 1.0 MB left, and the files to write may need 1.1 MB"},
		{room, edit.Extent{Entries: 1, Bytes: math.MaxInt64}, "has 1.0 MB left, and the files to write may need 9223372036854.8 MB"},
	} {
		err := c.room.Fit(c.need)
		if got := new(edit.NoRoom); c.want == "" && err != nil || c.want != "" && (!errors.As(err, &got) || err.Error() != c.want) {
			t.Errorf("%+v in %+v: %v, want %q", c.need, c.room, err, c.want)
		}
	}
}

// TestRoomOf checks that RoomOf returns, for a missing folder, the free space of the folder above
// it.
func TestRoomOf(t *testing.T) {
	s, known := edit.RoomOf(filepath.Join(t.TempDir(), "a", "b"))
	if wants := runtime.GOOS == "linux" || runtime.GOOS == "darwin"; known != wants || known && (s.Block <= 0 || s.Bytes <= 0) {
		t.Errorf("%+v, %t", s, known)
	}
}
