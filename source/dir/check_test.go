package dir

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestCheckOfSilentDisk checks that a folder of a disk that does not answer can be a root.
func TestCheckOfSilentDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, answers := time.Now(), make(chan error)
		if err := inTime(func() error { return <-answers }); err != nil || time.Since(begun) != checkPatience {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		answers <- errNotDirectory
	})
}
