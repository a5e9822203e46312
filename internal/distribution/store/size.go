package store

import (
	"context"
	"io/fs"
	"path/filepath"
)

// Size returns how many bytes the files of the store have. It looks at each of them. A file that
// goes meanwhile is left out.
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
