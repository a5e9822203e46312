package cli

import (
	"context"
	"sync/atomic"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/skill"
)

// showJudging shows the number of checked skills at a terminal until done is called. It counts the
// checks that are made with the returned context.
func showJudging(ctx context.Context, env *console.Env, v catalog.View) (counting context.Context, done func()) {
	n := new(atomic.Int64)
	return skill.WithProgress(ctx, n), console.ShowProgress(env, console.Step{What: "checking skills", Count: func() (int, int) { return int(n.Load()), len(v.Entries) }})
}
