package edit

import (
	"os"
	"path/filepath"
	"runtime"
)

// SyncFolders makes the listed folders, which are below the folder on, and all their files survive
// a crash. On Linux, one call does so for the whole file system, and SyncFolders ignores the list.
func SyncFolders(on string, folders []string) error {
	if runtime.GOOS == "linux" {
		folders = []string{on}
	}
	for _, at := range folders {
		root, err := os.OpenRoot(at)
		if err != nil {
			return pathError("sync", at, err)
		}
		err = syncTree(root)
		root.Close()
		if err != nil {
			return pathError("sync", at, err)
		}
		if runtime.GOOS == "linux" {
			continue
		}
		if above, err := os.OpenRoot(filepath.Dir(at)); err == nil {
			syncFolder(above)
			above.Close()
		}
	}
	return nil
}
