package cli

import (
	"context"
	"sync/atomic"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/skill"
)

// showJudging shows progress at a terminal, as the number of skills checked, until done is called.
// It counts the checks made with the returned context.
func showJudging(ctx context.Context, env *console.Env, v catalog.View) (counting context.Context, done func()) {
	n := new(atomic.Int64)
	return skill.WithProgress(ctx, n), console.ShowProgress(env, console.Step{What: "checking skills", Count: func() (int, int) { return int(n.Load()), len(v.Entries) }})
}
