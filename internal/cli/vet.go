package cli

import (
	"path/filepath"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/config"
	"github.com/knack-dev/knack/internal/build"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/settings"
	"github.com/knack-dev/knack/internal/supply"
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
		o := vet.Options{Policy: policy, Log: f.log}
		if policy.Mode == config.ScanEnforce {
			o.Cache = vet.NewCache(verdictsFile(env), vet.Engine(build.Current(), policy), time.Now)
		}
		f.judge = vet.New(o)
	}
	return func(s catalog.Source) catalog.Source { return f.judge.Source(s, f.vets == vetsOnce) }, nil
}

// verdictsFile returns the file that keeps what was judged, or "" if there is no folder for it.
func verdictsFile(env console.Env) string {
	if cache := supply.CacheFolder(env); cache != "" {
		return filepath.Join(cache, "verdicts")
	}
	return ""
}

// vets says which skills a command has.
type vets int

const (
	vetsNone   vets = iota // all
	vetsOnce               // those that are served, judged before the command answers
	vetsServer             // those that are served, as they are judged
)
