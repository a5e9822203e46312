package cli

import (
	"context"
	"sync/atomic"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/skill"
)

// showJudging shows at a terminal how many skills of a view were checked in the context, until
// done is called.
func showJudging(ctx context.Context, env *console.Env, v catalog.View) (counting context.Context, done func()) {
	n := new(atomic.Int64)
	return skill.WithProgress(ctx, n), console.ShowProgress(env, console.Step{What: "checking skills", Count: func() (int, int) { return int(n.Load()), len(v.Entries) }})
}
