package dir

import (
	"context"

	"github.com/knack-dev/knack/skill"
)

// Whole lists and hashes the files of a skill's folder in one pass; see
// [skill.Skill.Whole]. It answers only for ordinary folders (files and folders, no
// links, nothing unreadable), on a file system that is known to keep stamps. For others
// the caller goes the long way, which reports the details.
func (f *folder) Whole(ctx context.Context, known []skill.File) (files []skill.File, ok bool) {
	if f.dev == 0 {
		return nil, false
	}
	return whole(ctx, f, known)
}
