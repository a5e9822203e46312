package selection

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/workspace"
)

// Next is the kind of argument that follows the name of a skill.
type Next int

// The kinds of argument that may follow.
const (
	Nothing Next = iota
	File         // one of the skill's files
	Skill        // another skill
)

// CompleteSkill completes the name of a skill and the arguments after it. Unless follows is [File],
// an argument may also be a path.
func (f *Flags) CompleteSkill(follows Next) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		isSkill := len(args) == 0 || follows == Skill
		if !isSkill && (follows == Nothing || len(args) > 1) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		words := f.Complete(cmd.Context(), func(ctx context.Context, _ *workspace.Workspace, v catalog.View) []string {
			if isSkill {
				return skillWords(v, typed)
			}
			e, _, err := Find(f.Env, v, args[0], nil)
			if err != nil {
				return nil
			}
			return fileWords(ctx, e, typed)
		})
		if follows == File {
			return words, cobra.ShellCompDirectiveNoFileComp
		}
		return words, cobra.ShellCompDirectiveDefault
	}
}

// Complete returns the completion words that find returns for the skills, or nil after [Patience].
// It prints no warnings.
func (f *Flags) Complete(ctx context.Context, find func(ctx context.Context, w *workspace.Workspace, v catalog.View) []string) []string {
	words, _ := InTime(ctx, func(ctx context.Context) []string {
		w, err := f.open(f.hasty())
		if err != nil {
			return nil
		}
		v, err := w.View(ctx)
		if err != nil {
			return nil
		}
		return find(ctx, w, v)
	})
	return words
}

// completeLabel completes the label of a root.
func (f *Flags) completeLabel(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	words, _ := InTime(cmd.Context(), func(context.Context) []string {
		o := f.hasty()
		o.Exclude = nil // an unknown label must not stop the completion
		w, err := f.open(o)
		if err != nil {
			return nil
		}
		return w.Labels()
	})
	return words, cobra.ShellCompDirectiveNoFileComp
}

// hasty returns options that suit completion. A user in the middle of a line gets no warnings.
func (f *Flags) hasty() workspace.Options {
	o := f.Options
	o.Patience, o.Tools = RootPatience, nil
	var dirs []string
	for _, d := range o.Dirs { // cobra parses the flags of a line twice
		if !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	o.Dirs = dirs
	return o
}
