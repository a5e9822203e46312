package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

func newCommand(env *console.Env) *cobra.Command {
	var below, project, description string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a valid skill to start from",
		Long: `Write a folder NAME with a SKILL.md that every client accepts, to start from,
and print its path. Existing files stay unchanged.

It goes below ` + agents.SkillsFolder + ` at the root of the project's repository; outside a
repository, below the working directory. --dir names another folder.`,
		Example: `  knack new release-notes
  knack new release-notes --dir ~/.claude/skills   # for you, in all projects`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return command.UsageError("for example: knack new "+skill.Suggest(strings.Join(args, "-")), "knack new takes one name, and there are %d", len(args))
			}
			return command.ArgCount(1, 1, "the name of the new skill")(cmd, args)
		},
		RunE: command.Returning(env, func(_ *cobra.Command, args []string) (command.Result, error) {
			// In the home folder, the skill is for all projects.
			at := cmp.Or(settings.Root(*env, project), settings.Folder(*env, project))
			switch {
			case below != "":
				at = env.Absolute(below)
			case at == "":
				return nil, command.RunError("give a folder with --dir", "the working directory is not known")
			default:
				at = filepath.Join(at, filepath.FromSlash(agents.SkillsFolder))
			}
			find := ""
			switch {
			case below != "":
				find = " --dir " + console.ShellWord(below)
			case project != "":
				find = " --project " + console.ShellWord(project)
			}
			r, err := makeSkill(env, settings.Folder(*env, project), at, args[0], description, find)
			if err != nil {
				return nil, err
			}
			return r, nil
		}),
	}
	cmd.Flags().StringVar(&below, "dir", "", "make the skill's folder below `DIR`")
	cmd.Flags().StringVar(&project, "project", "", command.ProjectUsage)
	cmd.Flags().StringVar(&description, "description", "", "the description, as `TEXT`: what the skill does and when to use it")
	cmd.Flags().Bool("json", false, "print a JSON object")
	_ = cmd.MarkFlagDirname("dir")
	_ = cmd.MarkFlagDirname("project")
	return cmd
}

// elsewhere is the hint for a folder in which no skill can be created. It has two parts.
const (
	elsewhere   = writable + ", or " + otherFolder
	writable    = "let the user who runs knack write there"
	otherFolder = "choose another folder with --dir"
)

// makeSkill creates the skill's folder in the folder below. project is the project's folder, or ""
// if unknown. find is the flag with which other commands find the skill.
func makeSkill(env *console.Env, project, below, name, description, find string) (r newReport, err error) {
	if !skill.ValidName(name) {
		return r, command.UsageError("for example: knack new "+skill.Suggest(name),
			"'%s' cannot be the name of a skill: a name has a-z, 0-9 and single hyphens between them, at most %d characters", display.Echo(name), skill.MaxName)
	}
	if fault := skill.WindowsFault(name); fault != "" {
		return r, command.UsageError("for example: knack new "+skill.Suggest(name),
			"'%s' cannot be the name of a skill for every system: Windows allows no such folder (%s)", name, fault)
	}
	if n := len([]rune(description)); n > skill.MaxDescription {
		return r, command.UsageError("shorten it", "the description has %d characters, over the limit of %d", n, skill.MaxDescription)
	}
	folder := filepath.Join(below, name)
	if file := fileIn(folder); file != "" {
		return r, command.RunError(otherFolder, "%s: %w", env.Shown(file), skill.ErrNotFolder)
	}
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, command.RunError(elsewhere, "%s cannot be read: %w", env.Shown(folder), command.Cause(err))
	}
	for _, e := range entries {
		if skill.IsEntryNameInAnyCase(e.Name()) {
			return r, existsError(*env, filepath.Join(folder, e.Name()), name+find)
		}
	}
	file := filepath.Join(folder, skill.MainFile)
	place := edit.Named(file)
	if project != "" {
		var target string
		if place, target, err = settings.Within(*env, project, file); err != nil {
			return r, command.RunError("if you mean that folder, name it: knack new --dir "+console.ShellWord(target)+" "+name, "%w; nothing was written", err)
		}
	}
	err = edit.Create(place, []byte(template(name, description)), 0o666)
	if errors.Is(err, edit.ErrExists) {
		return r, existsError(*env, file, name+find)
	}
	if err != nil {
		return r, command.Unwritten(env, file, err, writable, otherFolder)
	}
	return newReport{Name: name, File: env.Shown(file), Dir: folder, find: find}, nil
}

// fileIn returns the first existing part of a path if it is not a folder, or "".
func fileIn(path string) string {
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			break
		} else if err == nil {
			return at
		}
	}
	return ""
}

// newReport is the result of new. Its keys have the same meaning as in list.
type newReport struct {
	Name string `json:"name"`
	File string `json:"file"` // as shown to people
	Dir  string `json:"dir"`
	find string // the flag with which other commands find the skill, or ""
}

// Print implements [command.Result].
func (r newReport) Print(env *console.Env) {
	fmt.Fprintln(env.Stdout, console.Clean(r.File))
	env.Err().Text(console.Hint, "say in the description when to use it, and in the text what to do; then run knack doctor "+r.Name+r.find)
}

// existsError returns the failure for a file that exists already. named is the argument with which
// other commands find the skill.
func existsError(env console.Env, file, named string) error {
	return command.Fail(command.No, fmt.Errorf("there is a %s already; nothing was written", env.Shown(file)), "choose another name, or see it with knack doctor "+named)
}

// template returns a skill that satisfies the specification. If description is empty, the skill
// gets [check.NewDescription], which names its purpose and when to use it.
func template(name, description string) string {
	words := strings.ReplaceAll(name, "-", " ")
	if description = display.OneLine(description); description == "" {
		description = check.NewDescription(words)
	}
	title := strings.ToUpper(words[:1]) + words[1:]
	return fmt.Sprintf(`---
%s
description: %s
---

# %s

Write here what an agent does not know by itself: the steps of your team, the traps
of your tools, and what shows that the result is right.

## Steps

1. What to look at first.
2. What to do, with the exact commands.
3. How to check the result.

## Done when

- What must be true at the end.
`, skill.Line(name), display.AppendJSONString(nil, description), title)
}
