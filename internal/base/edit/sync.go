package edit

import (
	"os"
	"path/filepath"
	"runtime"
)

// SyncFolders makes folders that were placed below the folder on survive a crash, with all files
// in them. On Linux, one call does so for the whole file system, and the list is not looked at.
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
