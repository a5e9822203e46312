//go:build !linux

package dir

import (
	"context"

	"github.com/knack-dev/knack/skill"
)

func whole(context.Context, *folder, []skill.File) ([]skill.File, bool) { return nil, false }
