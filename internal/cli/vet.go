package cli

import (
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/observe"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// openJudge makes the judge of the operator's policy. Commands that look into skills which are held
// back have none.
func (f *sourceFlags) openJudge(env console.Env) (err error) {
	if f.judge == nil && f.vets != vetsNone {
		cache, _ := env.Folders()
		f.judge, err = settings.Admission(&env, f.file, cache, f.log)
	}
	return err
}

// quickly returns the judge of commands that answer at once. It knows what the operator's policy has
// kept, and judges the format of other skills alone.
func (f *sourceFlags) quickly() judgement.Judge {
	j := observe.JudgeOf(f.judge)
	j.Quick = true
	return j
}

// vets says which skills a command has.
type vets int

const (
	vetsNone   vets = iota // all
	vetsOnce               // those that are served, judged before the command answers
	vetsServer             // those that are served, as they are judged
)
