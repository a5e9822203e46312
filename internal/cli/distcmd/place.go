package distcmd

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
)

// skillFolder is a folder in which a skill with a given name is installed.
type skillFolder struct {
	key    string // of the skill in its lock
	global bool   // the lock is for all projects, and the command is for one
	label  string
}

// installed returns the locks that a command reads. here is the lock that its flags choose, and
// home the lock of the skills for all projects. home is nil if a flag chooses the lock, and a lock
// that cannot be read is nil too. The caller closes both.
func (f *flags) installed() (here, home *install.Installer) {
	open := func(at destination) *install.Installer {
		in, err := install.Open(install.Options{Root: at.root, Home: f.env.Home, Getenv: f.env.Variable, AtHome: at.atHome, Shown: f.env.Shown}, false)
		if err != nil {
			return nil
		}
		return in
	}
	isOpen := !f.global && f.project == "" && f.env.Home != ""
	at, err := f.destination(false)
	if err != nil {
		return nil, nil
	}
	if here = open(at); isOpen && !f.global {
		home = open(f.homeFolders())
	}
	return here, home
}

// completeInstalled completes the names of installed skills.
func (f *flags) completeInstalled(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	words, _ := selection.InTime(cmd.Context(), func(context.Context) []string {
		in, _ := f.installed()
		if in == nil {
			return nil
		}
		locked := in.Locked()
		return selection.Offered(func(yield func(string, string) bool) {
			for _, key := range slices.Sorted(maps.Keys(locked)) {
				if e := locked[key]; !yield(e.Name, "from "+e.Source) {
					return
				}
			}
		}, typed)
	})
	return words, cobra.ShellCompDirectiveNoFileComp
}

// which returns the folders of the skills to remove. If a skill is installed in several places, it
// asks at a terminal which one to remove. If the chosen places are those for all projects, it sets
// f.global.
func (f *flags) which(ctx context.Context, names []string, asks bool) ([]string, error) {
	here, home := f.installed()
	var out []string
	chosen := map[bool]bool{}
	for _, name := range names {
		var places []skillFolder
		for i, in := range []*install.Installer{here, home} {
			if in == nil {
				continue
			}
			for _, key := range in.KeysOf(name) {
				places = append(places, skillFolder{key, i == 1, f.env.Shown(in.Folder(key))})
			}
		}
		p := skillFolder{key: name}
		switch {
		case len(places) == 1 && places[0].global:
			return nil, &install.Problem{Err: fmt.Errorf("the project's %s names no skill '%s'", lockfile.Name, display.Echo(name)), Fix: "it is installed for all projects: " + removes(name, true), No: true}
		case len(places) > 1:
			var err error
			if p, err = f.choosePlace(ctx, name, places, asks); err != nil {
				return nil, err
			}
		}
		out, chosen[p.global] = append(out, p.key), true
	}
	if len(chosen) > 1 {
		return nil, command.UsageError("remove them with a command each", "the skills are in different places")
	}
	f.global = f.global || chosen[true]
	return out, nil
}

// choosePlace asks the user to choose one of several places. If it cannot ask, it returns an error
// that lists the command for each place.
func (f *flags) choosePlace(ctx context.Context, name string, places []skillFolder, asks bool) (skillFolder, error) {
	var labels, commands []string
	for _, p := range places {
		word := p.key
		if !slices.ContainsFunc(places, func(o skillFolder) bool { return o != p && o.global == p.global }) {
			word = name
		}
		line := removes(word, p.global)
		if !p.global && word == name {
			line += " --project " + console.ShellWord(f.env.Shown(filepath.Clean(f.env.Absolute("."))))
		}
		labels, commands = append(labels, p.label), append(commands, line)
	}
	if asks {
		lines := f.env.Lines()
		defer lines.Close()
		f.env.Err().Line("%s is installed in %d places:", display.Echo(name), len(places))
		for i, s := range labels {
			f.env.Err().Line("  %d  %s", i+1, s)
		}
		answer, err := lines.Line(ctx, fmt.Sprintf("Remove which one? [1-%d] ", len(places)))
		if n, bad := strconv.Atoi(strings.TrimSpace(answer)); err == nil && bad == nil && n >= 1 && n <= len(places) {
			return places[n-1], nil
		}
	}
	return skillFolder{}, &install.Problem{Err: fmt.Errorf("%s is installed in %d places: %s", display.Echo(name), len(places), strings.Join(labels, ", ")), Fix: "say which: " + strings.Join(commands, "; "), No: true}
}

// removes returns the command that removes a skill.
func removes(name string, global bool) string {
	line := "knack remove " + console.ShellWord(name)
	if global {
		line += " --global"
	}
	return line
}
