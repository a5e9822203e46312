package store

import (
	"context"
	"io/fs"
	"path/filepath"
)

// Size returns the number of bytes of all files in the store. It skips files that are removed
// meanwhile.
func (s *Store) Size(ctx context.Context) (bytes int64, err error) {
	err = filepath.WalkDir(s.dir, func(_ string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	})
	return bytes, err
}
