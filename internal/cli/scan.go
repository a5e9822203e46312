package cli

import (
	"context"
	"sync/atomic"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/lookup"
)

// view scans everything once, for a command that answers and ends.
func (f *sourceFlags) view(ctx context.Context, env console.Env) (catalog.View, error) {
	_, v, err := f.scan(ctx, env)
	return v, err
}

// scan makes a catalogue and scans everything once.
func (f *sourceFlags) scan(ctx context.Context, env console.Env) (*catalog.Catalog, catalog.View, error) {
	if err := f.check(env); err != nil {
		return nil, catalog.View{}, err
	}
	sources, err := f.sources(env, nil)
	if err != nil {
		return nil, catalog.View{}, err
	}
	c, v, err := scanned(ctx, &env, sources, f.options(env))
	if err != nil {
		return nil, v, err
	}
	f.judge.Save()
	f.warnUnfetched(env)
	f.warnMissing(env, v)
	if f.required() {
		err = f.rootError(v)
	}
	return c, v, err
}

// scanned makes a catalogue and waits until it has read all of its sources, however long
// that takes. A command that answers once must not answer with a part.
func scanned(ctx context.Context, env *console.Env, sources []catalog.Source, o catalog.Options) (*catalog.Catalog, catalog.View, error) {
	c := catalog.New(sources, o)
	defer showReading(env, c)()
	if err := c.Refresh(ctx); err != nil {
		return nil, catalog.View{}, interrupted(err)
	}
	v, err := c.View(ctx)
	return c, v, err
}

// interrupted says in words why a command did not finish.
func interrupted(err error) error { return command.RunError("", "the scan was interrupted: %w", err) }

// rootError returns the error of the first root of the user that could not be read, or nil.
// The root was a folder when the command began.
func (f *sourceFlags) rootError(v catalog.View) error {
	what := "--dir"
	if len(f.dirs) == 0 {
		what = f.file.Shown + ": the folder"
	}
	for _, r := range v.Roots {
		if r.Err != nil {
			return folderError(what, r.Shown, r.Err)
		}
	}
	return nil
}

// showReading shows at a terminal how much a scan has read, until done is called.
func showReading(env *console.Env, c *catalog.Catalog) (done func()) {
	return console.ShowProgress(env, console.Step{What: "reading skills", Count: func() (int, int) { return int(c.Progress()), 0 }, Unit: "folders"})
}

// showJudging shows at a terminal how many skills of a view were checked in the context, until
// done is called.
func showJudging(ctx context.Context, env *console.Env, v catalog.View) (counting context.Context, done func()) {
	n := new(atomic.Int64)
	return skill.WithProgress(ctx, n), console.ShowProgress(env, console.Step{What: "checking skills", Count: func() (int, int) { return int(n.Load()), len(v.Entries) }})
}

// host scans everything once and returns a host for tools.
func (f *sourceFlags) host(ctx context.Context, env console.Env) (*tool.Host, error) {
	c, _, err := f.scan(ctx, env)
	if err != nil {
		return nil, err
	}
	return &tool.Host{Finder: lookup.Finder{Catalog: c, Engage: f.builtin().Engage}}, nil
}
