package cli

import (
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/settings"
	"github.com/knack-dev/knack/internal/vet"
)

// vetting returns a function that puts in the place of a source one of the skills that the
// operator's policy lets pass. Commands that look into skills which are held back have no policy.
func (f *sourceFlags) vetting(env console.Env) (func(catalog.Source) catalog.Source, error) {
	if f.vets == vetsNone {
		return func(s catalog.Source) catalog.Source { return s }, nil
	}
	if f.judge == nil {
		policy, _, err := settings.ScanPolicy(&env, f.file)
		if err != nil {
			return nil, err
		}
		f.judge = vet.New(vet.Options{Policy: policy, Log: f.log})
	}
	return func(s catalog.Source) catalog.Source { return f.judge.Source(s, f.vets == vetsOnce) }, nil
}

// vets says which skills a command has.
type vets int

const (
	vetsNone   vets = iota // all
	vetsOnce               // those that are served, judged before the command answers
	vetsServer             // those that are served, as they are judged
)
