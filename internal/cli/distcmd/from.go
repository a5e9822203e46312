package distcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/lockfile/foreign"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

// planFrom plans to take over the skills of another installer. from is the path of its lock, or
// "gh".
func (f *flags) planFrom(ctx context.Context, in *install.Installer, from string) (*install.Plan, error) {
	if from == string(foreign.GitHub) {
		entries, err := in.FromGitHub(ctx)
		if err != nil {
			return nil, err
		}
		return in.PlanFrom(ctx, foreign.GitHub, entries, filepath.Dir(in.LockFile())), nil
	}
	file := f.env.Absolute(from)
	if filepath.Base(file) == lockfile.Name {
		return nil, &install.Problem{Err: fmt.Errorf("%s is knack's own lock", f.env.Shown(file)), Fix: f.command("sync") + " installs what it names", Usage: true}
	}
	data, err := settings.ReadNamed(file, foreign.MaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &install.Problem{Err: fmt.Errorf("there is no file %s", f.env.Shown(file)), Fix: "name the lock of the other installer, or gh for skills that gh skill installed"}
	case err != nil:
		return nil, &install.Problem{Err: fmt.Errorf("%s cannot be read: %s", f.env.Shown(file), skill.Reason(err)), Fix: "let the user who runs knack read it"}
	}
	format, entries, err := foreign.Parse(data, filepath.Dir(file), f.env.Home)
	if err != nil {
		return nil, install.BadLock(f.env.Shown(file), err)
	}
	base := filepath.Dir(file)
	if format == foreign.Global {
		if base = f.env.Home; !f.global {
			return nil, &install.Problem{Err: fmt.Errorf("%s records skills for all projects", f.env.Shown(file)), Fix: "add --global", Usage: true}
		}
	}
	if len(entries) == 0 {
		return nil, &install.Problem{Err: fmt.Errorf("%s names no skills", f.env.Shown(file)), No: true}
	}
	return in.PlanFrom(ctx, format, entries, base), nil
}
