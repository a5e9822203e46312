package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/plugins"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// target is a root to scan for skills. It may be limited to the skill in the root's own folder.
type target struct {
	catalog.Source // made when the target is scanned
	root           skill.Root
	only           bool
	given          string // as the user typed it, "" for a well-known root
	base           string // where the search for a configuration file begins
	plugin         bool   // a file of a plugin or marketplace was given
	settings       config.Check
}

// targets returns the given paths. If no words are given, it returns the roots of the project.
// names are the words that are not paths; unread are the errors for paths that do not exist.
func targets(ctx context.Context, env *console.Env, named *namedSkills, words []string) (out []target, names []string, unread []*command.Failure, err error) {
	if len(words) == 0 {
		w, err := named.Open()
		if err != nil {
			return nil, nil, nil, err
		}
		base := settings.Folder(*env, named.from.Project)
		for _, r := range w.Roots() {
			if w.Named() {
				base = r.Dir
			}
			if r.Scope == skill.ScopeProject && !w.Excluded(r) {
				out = append(out, target{root: r, base: base})
			}
		}
		return out, nil, nil, nil
	}
	for _, p := range words {
		abs := env.Absolute(p)
		if p == "" {
			return nil, nil, nil, command.UsageError("give a file, a folder or the name of a skill", "the path is empty")
		}
		if selection.IsName(env, p) {
			names = append(names, p)
			continue
		}
		for _, flag := range []string{"dir", "project", "exclude", "no-builtin"} {
			if named.from.Given(flag) {
				return nil, nil, nil, command.UsageError("give one or the other", "--%s chooses roots, and a path was given", flag)
			}
		}
		info, err := os.Stat(abs)
		switch {
		case err != nil:
			unread = append(unread, command.Fail(command.Error, fmt.Errorf("%s: %s", display.Echo(p), skill.Reason(err)), "check the path"))
		case info.IsDir():
			out = append(out, target{root: checkRoot(abs, p), given: p, base: abs})
		case skill.IsEntryNameInAnyCase(filepath.Base(abs)):
			out = append(out, target{root: checkRoot(filepath.Dir(abs), filepath.Dir(p)), only: true, given: p, base: filepath.Dir(abs)})
		case pluginFolder(abs) != "":
			folder, label := pluginFolder(abs), filepath.ToSlash(p)
			for at := abs; at != folder; at = filepath.Dir(at) {
				label = path.Join(label, "..")
			}
			out = append(out, target{root: checkRoot(folder, label), given: p, base: folder, plugin: true})
		case typo.IsMainFile(filepath.Base(abs)):
			return nil, nil, nil, command.UsageError(renaming(ctx, env, abs, p), "%s: only a SKILL.md can be checked alone", display.Echo(p))
		default:
			return nil, nil, nil, command.UsageError(cmp.Or(named.hidden(ctx, p), "give a SKILL.md, a skill's folder, a plugin, or a folder with skills"), "%s: only a SKILL.md can be checked alone", display.Echo(p))
		}
	}
	return out, names, unread, nil
}

// pluginFolder returns the folder of the plugin or the marketplace that a file describes, or "".
func pluginFolder(abs string) string {
	root, ok := plugins.Root(filepath.ToSlash(abs))
	if !ok {
		return ""
	}
	return filepath.Clean(filepath.FromSlash(root))
}

// renaming returns a hint to rename a file that is perhaps meant as a SKILL.md. It offers --fix
// only if a scan finds the file and regards it as meant.
func renaming(ctx context.Context, env *console.Env, abs, file string) string {
	folder := filepath.ToSlash(filepath.Dir(file))
	found, err := dir.New(dir.Options{Root: checkRoot(filepath.Dir(abs), folder)}).Scan(ctx)
	if err == nil && slices.ContainsFunc(found.Notices, func(n skill.Notice) bool {
		return n.Path == "." && n.File == filepath.Base(abs) && n.Meant
	}) {
		return "rename it to SKILL.md; " + console.Quoted(env.CommandAt("check", "--fix=guess", folder)) + " does it"
	}
	return "if it is a skill, rename it to SKILL.md"
}

func checkRoot(abs, label string) skill.Root {
	return skill.Root{Label: label, Scope: skill.ScopeProject, Dir: abs, Shown: path.Clean(filepath.ToSlash(label))}
}

// Scan scans the folder, or only the skill in the folder itself.
func (t *target) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := t.Source.Scan(ctx)
	if t.only {
		scan.Bundles = slices.DeleteFunc(slices.Clone(scan.Bundles), func(b *skill.Bundle) bool { return b.Path != "." })
		scan.Version = 0 // the bundles are not all of this version
	}
	return scan, err
}

// noSkill returns the error for a given path without a skill. Its hint mentions a file there that
// is perhaps meant as a SKILL.md.
func noSkill(env *console.Env, t target) *command.Failure {
	f := command.Fail(command.No, fmt.Errorf("%s: no skill was found there", t.given), "a skill is a folder with a SKILL.md")
	entries, _ := os.ReadDir(t.root.Dir)
	for _, e := range entries {
		if e.Name() == "plugin.json" {
			f.Hint = "a skill is a folder with a SKILL.md; to check plugin.json as the manifest of a plugin: " + env.CommandAt("check", filepath.ToSlash(filepath.Join(t.given, e.Name())))
		}
		if !e.IsDir() && typo.IsMainFile(e.Name()) {
			f.Hint = "a skill is a folder with a SKILL.md; rename " + display.Echo(e.Name()) + " to SKILL.md"
		}
	}
	return f
}

// otherPath suggests a path to check if the project has no skill. It is the plugin in this folder,
// or an existing folder of the user.
func otherPath(env *console.Env, w *workspace.Workspace) string {
	if plugins.Is(env.Dir) {
		return "to check the plugin in this folder: " + env.CommandAt("check", ".")
	}
	for _, r := range w.Roots() {
		if info, err := os.Stat(r.Dir); r.Scope == skill.ScopeGlobal && err == nil && info.IsDir() {
			return "to check your own skills, give their folder: " + env.CommandAt("check", r.Shown)
		}
	}
	return "give the path of a skill, or of a folder with skills"
}
