package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/distcmd"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// fetched is a [catalog.Source] of skills that are fetched into the store but not installed.
type fetched struct {
	root    skill.Root
	bundles []*skill.Bundle
}

// Root implements [catalog.Source].
func (f *fetched) Root() skill.Root { return f.root }

// Scan implements [catalog.Source].
func (f *fetched) Scan(context.Context) (skill.Scan, error) {
	return skill.Scan{Bundles: f.bundles}, nil
}

// isOutside reports whether a word names an external source. Such a word has a scheme or the form
// SOURCE//SKILL, or is the path of an archive. If repositories is set, it may also be a Git
// repository, unless a folder with that path exists.
func isOutside(env *console.Env, word string, repositories bool) bool {
	if strings.HasPrefix(word, "skill://") || word == "" {
		return false
	}
	if origin.HasScheme(word) || strings.Contains(word, "//") && !strings.HasSuffix(word, "//") {
		return true
	}
	ref, err := origin.Parse(word, env.Dir, env.Home)
	switch {
	case err != nil:
		return false
	case ref.Kind == origin.Archive:
		return true
	}
	first, _, _ := strings.Cut(word, "/")
	return repositories && ref.Kind == origin.Git && dir.Check(env.Absolute(first)) != nil
}

// cutSkill splits SOURCE//SKILL. The name is "" if the word is a source alone.
func cutSkill(env *console.Env, word string) (source, name string) {
	if at := strings.LastIndex(word, "//"); at > 0 { // a site, not a repository
		if site, err := origin.Parse(word[:at], env.Dir, env.Home); err == nil && site.Kind == origin.WellKnown && strings.Count(site.Location, "/") == 2 {
			return word[:at], strings.Trim(word[at:], "/")
		}
	}
	if ref, err := origin.Parse(word, env.Dir, env.Home); err == nil && ref.Kind == origin.Git {
		name, ref.Sub = ref.Sub, ""
		return ref.String(), name
	}
	start := strings.Index(word, "://")
	if start < 0 {
		start = 0
	} else {
		start += len("://")
	}
	at := strings.LastIndex(word[start:], "//")
	if at < 0 {
		return word, ""
	}
	return word[:start+at], strings.Trim(word[start+at:], "/")
}

// outside fetches an external source and returns the skills that the word names. Without //SKILL,
// the word names all skills of the source. The caller calls done after reading the skills.
func outside(ctx context.Context, env *console.Env, config, word string) (all []*catalog.Entry, done func(), err error) {
	if _, err := origin.Parse(word, env.Dir, env.Home); err == nil {
		if bad := (*origin.RefError)(nil); errors.As(typed(env, word), &bad) {
			return nil, nil, command.UsageError(bad.Fix, "%s", bad.Message)
		}
	}
	source, name := cutSkill(env, word)
	bundles, left, done, err := distcmd.Fetch(ctx, env, config, source)
	if err != nil {
		return nil, nil, err
	}
	c := catalog.New([]catalog.Source{&fetched{skill.Root{Label: "source", Scope: skill.ScopeProject, Shown: source}, bundles}}, catalog.Options{})
	if err := c.Refresh(ctx); err != nil {
		done()
		return nil, nil, workspace.Interrupted(err)
	}
	v, err := c.View(ctx)
	if err != nil {
		done()
		return nil, nil, err
	}
	for _, why := range left {
		env.Err().Text(console.Warning, "cannot be installed: "+why.Error())
	}
	var names []string
	for _, by := range []func(*catalog.Entry) bool{
		func(e *catalog.Entry) bool { return name == "" || e.Path == name },
		func(e *catalog.Entry) bool {
			return skill.KeyOf(e.Name) == skill.KeyOf(name) || path.Base(e.Path) == name
		},
		func(e *catalog.Entry) bool { return strings.HasPrefix(e.Path, name+"/") },
	} {
		for _, e := range v.Entries {
			if names = append(names, e.Name); by(e) {
				all = append(all, e)
			}
		}
		if len(all) > 0 {
			return all, done, nil
		}
	}
	done()
	hint := ""
	if near := typo.Nearest(name, names); near != "" {
		hint = "did you mean " + source + "//" + display.Echo(near) + "?"
	}
	return nil, nil, command.Fail(command.No, fmt.Errorf("%s has no skill '%s'", source, display.Echo(name)), hint)
}

// showOutside returns the content of a file of a skill that is not installed.
func showOutside(ctx context.Context, env *console.Env, config string, args []string) (command.Result, error) {
	all, done, err := outside(ctx, env, config, args[0])
	if err != nil {
		return nil, err
	}
	defer done()
	if len(all) > 1 {
		source, _ := cutSkill(env, args[0])
		var paths []string
		for _, e := range all[:min(len(all), 20)] {
			paths = append(paths, e.Path)
		}
		return nil, command.Fail(command.No, fmt.Errorf("%s names %s", display.Echo(args[0]), display.Count(len(all), "skill")), "name one, as "+source+"//"+paths[0]+"; there are "+strings.Join(paths, ", "))
	}
	file := skill.MainFile
	if len(args) == 2 {
		file = args[1]
	}
	return show(all[0], file)
}

// typed returns the error for a source that may also be a path on disk.
func typed(env *console.Env, word string) error {
	_, err := origin.ParseTyped(word, env.Dir, env.Home)
	return err
}
