package cli

import (
	"cmp"
	"context"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/workspace"
)

// withheld returns the reason and the fix for each folder whose skill is not offered to models by
// name. It reads the skills as list and doctor do. The result lacks the folders of offered skills.
func withheld(ctx context.Context, env *console.Env, project, config string, folders []string) map[string]string {
	w, err := workspace.Open(workspace.Options{Env: env, Project: project, Config: config})
	if err != nil {
		return nil
	}
	defer w.Close()
	v, err := w.View(ctx)
	if err != nil {
		return nil
	}
	place := placing()
	at := map[string]*catalog.Entry{}
	for _, e := range v.Entries {
		if folder := place(e.Dir()); at[folder] == nil {
			at[folder] = e
		}
	}
	why := map[string]string{}
	for _, folder := range folders {
		if e := at[place(folder)]; e != nil {
			if text := withheldBecause(v, e); text != "" {
				why[folder] = text
			}
		}
	}
	return why
}

// unlockedHere returns the skills that the lock in a folder covers and does not have, by their
// folders, and the fix of each.
func unlockedHere(ctx context.Context, env *console.Env, project, config, folder string) (map[string]string, error) {
	w, err := workspace.Open(workspace.Options{Env: env, Project: project, Config: config, Partly: true})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return w.Unlocked(ctx, folder)
}

// namedHere returns where the skill with the given name is, or "".
func namedHere(ctx context.Context, env *console.Env, project, name string) string {
	w, err := workspace.Open(workspace.Options{Env: env, Project: project})
	if err != nil {
		return ""
	}
	defer w.Close()
	v, err := w.View(ctx)
	if err != nil {
		return ""
	}
	if e := v.Named(name); e != nil {
		return e.Place()
	}
	return ""
}

// withheldBecause returns the reason why models are not offered a skill by name. It returns "" for
// an offered skill. It also returns "" for a copy of one, since the original answers with the same
// text.
func withheldBecause(v catalog.View, e *catalog.Entry) string {
	switch e.Status {
	case catalog.Skipped:
		p, _ := e.SkipReason()
		text := "knack does not offer it: " + p.Message
		if p.Fix != "" {
			text += " (" + p.Fix + ")"
		}
		return text
	case catalog.Shadowed:
		return "it is shadowed: " + e.By.Place() + " has the same name and comes first, so that answers to " + display.Echo(e.Name) +
			"; remove or rename that one, or name this one " + v.Called(e)
	case catalog.Unlisted:
		root := e.Root
		if !root.Unlisted && e.By != nil {
			root = e.By.Root
		}
		return "no list has it: " + doctor.Excluded(e) + " by " + cmp.Or(root.UnlistedBy, "a setting") + "; take " + root.Label + " out there, or load it as " + v.Called(e)
	}
	switch {
	case e.ModelInvocable:
		return ""
	case e.UserInvocable:
		return "knack offers it to people alone, as a prompt: its SKILL.md says " + display.OneLine(e.Disabled) + "; without that line models get it too"
	}
	return "no client is offered it: its SKILL.md says " + display.OneLine(e.Disabled) + ", and that no user invokes it; delete one of these lines"
}
