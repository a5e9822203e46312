package dir

import (
	"context"

	"github.com/knack-dev/knack/skill"
)

// Whole lists and hashes the files of a skill's folder in one pass; see
// [skill.Skill.Whole]. It answers for folders in which all is as usual (files and
// folders, no links, nothing that cannot be read), on a file system that is known
// to keep stamps. For others the caller goes the long way, which has the words.
func (f *folder) Whole(ctx context.Context, known []skill.File) (files []skill.File, ok bool) {
	if f.dev == 0 {
		return nil, false
	}
	return whole(ctx, f, known)
}
