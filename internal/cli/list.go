package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/doctor"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

func listCommand(env *console.Env) *cobra.Command {
	var from sourceFlags
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:        "list",
		SuggestFor: []string{"ls", "skills", "skill"},
		Short:      "List the available skills; with --all also the others, with reasons",
		Args:       argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := from.view(cmd.Context(), *env)
			if err != nil {
				return err
			}
			if asJSON {
				done := console.ShowWait(env, judgingNotice)
				out, err := listJSON(cmd.Context(), v, all)
				done()
				if err != nil {
					return err
				}
				return console.PrintJSON(env.Stdout, out)
			}
			printList(env, v, all)
			if len(v.Entries) == 0 && !all {
				fmt.Fprintln(env.Stderr, "hint: knack list --all shows where skills are looked for")
			}
			return nil
		},
	}
	from.register(cmd, env)
	cmd.Flags().BoolVar(&all, "all", false, "also show shadowed and skipped skills, with reasons, and every root")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listing is the JSON form of list. Skills has every available skill, with a status for
// shadowed ones, and with --all the skipped ones too. Count covers everything that was
// found.
type listing struct {
	Count  doctor.Count        `json:"count"`
	Skills []doctor.Skill      `json:"skills"`
	Roots  []doctor.RootStatus `json:"roots"`
}

func listJSON(ctx context.Context, v catalog.View, all bool) (listing, error) {
	judged, err := doctor.JudgeAll(ctx, v)
	if err != nil {
		return listing{}, interrupted(err)
	}
	out := listing{Count: doctor.CountOf(v, judged), Skills: []doctor.Skill{}, Roots: []doctor.RootStatus{}}
	for _, d := range judged {
		if d.Entry.Status != catalog.Skipped && d.Entry.Status != catalog.Unlisted || all {
			out.Skills = append(out.Skills, doctor.SkillOf(d))
		}
	}
	for _, r := range doctor.Roots(v) {
		if all || r.Present || r.Error != "" || len(r.Notices) > 0 {
			out.Roots = append(out.Roots, r)
		}
	}
	return out, nil
}

// printList prints names, places, and descriptions shortened to the terminal.
func printList(env *console.Env, v catalog.View, all bool) {
	w := env.Stdout
	width := 0
	for _, e := range v.Entries {
		if e.Status == catalog.Available {
			width = max(width, min(utf8.RuneCountInString(e.Name), 40))
		}
	}
	label := ""
	shadowed, unlisted := 0, 0
	for _, e := range v.Entries {
		switch e.Status {
		case catalog.Available:
			if e.Root.Label != label {
				label = e.Root.Label
				fmt.Fprintf(w, "%s\n", heading(*e.Root))
			}
			printSkill(env, e, e.Name, width)
		case catalog.Shadowed, catalog.Copy:
			shadowed++
		case catalog.Unlisted:
			unlisted++
		}
	}
	if all {
		printHidden(w, v)
	}
	fmt.Fprintln(w, summary(v, shadowed, unlisted, all))
}

func heading(r skill.Root) string { return console.Clean(doctor.Heading(r)) }

// printSkill prints a skill in one line, under the name by which it is called.
func printSkill(env *console.Env, e *catalog.Entry, called string, width int) {
	name := console.Clean(display.OneLine(called))
	pad := strings.Repeat(" ", max(width-utf8.RuneCountInString(name), 0))
	description := console.Clean(display.OneLine(e.Description))
	if env.Width > 0 {
		description = display.Cut(description, max(env.Width-width-4, 20))
	} else {
		description = display.Cut(description, 100)
	}
	mark := ""
	if !e.ModelInvocable {
		mark = "(not for models) "
	}
	fmt.Fprintf(env.Stdout, "  %s%s  %s%s\n", name, pad, mark, description)
}

func printHidden(w io.Writer, v catalog.View) {
	first := true
	for _, e := range v.Entries {
		if e.Status == catalog.Shadowed || e.Status == catalog.Copy {
			if first {
				fmt.Fprintln(w, "shadowed")
				first = false
			}
			what := "has the same name as"
			if e.Status == catalog.Copy {
				what = "is a copy of"
			}
			fmt.Fprintf(w, "  %s  %s %s; load it as %s\n", console.Clean(e.Place()), what, console.Clean(e.By.Place()), console.Clean(v.Called(e)))
		}
	}
	printUnlisted(w, v)
	if len(v.Skipped) > 0 {
		fmt.Fprintln(w, "skipped")
	}
	for _, e := range v.Skipped {
		fmt.Fprintf(w, "  %s\n", console.Clean(tool.Reason(e)))
	}
	printVariants(w, v)
	printRoots(w, v)
}

// printUnlisted prints the skills of excluded roots, and the names that load them.
func printUnlisted(w io.Writer, v catalog.View) {
	first := true
	for _, e := range v.Entries {
		if e.Status != catalog.Unlisted {
			continue
		}
		if first {
			fmt.Fprintln(w, "unlisted")
			first = false
		}
		fmt.Fprintf(w, "  %s  is in a root that --exclude names; load it as %s\n", console.Clean(e.Place()), console.Clean(v.Called(e)))
	}
}

// printVariants prints other spellings of SKILL.md beside the one that is read.
func printVariants(w io.Writer, v catalog.View) {
	first := true
	for _, e := range v.Entries {
		if e.Entry == "" || len(e.Others()) == 0 {
			continue
		}
		if first {
			fmt.Fprintln(w, "not read")
			first = false
		}
		fmt.Fprintf(w, "  %s  is beside %s\n", console.Clean(strings.Join(e.Others(), ", ")), console.Clean(e.Place()))
	}
}

func printRoots(w io.Writer, v catalog.View) {
	fmt.Fprintln(w, "roots")
	for _, r := range v.Roots {
		state := fmt.Sprintf("%d found", r.Count)
		switch {
		case r.Err != nil:
			state = doctor.UnreadReason(r)
		case r.Missing:
			state = "not there"
		}
		fmt.Fprintf(w, "  %s: %s\n", heading(r.Root), console.Clean(state))
		for _, n := range r.Notices {
			line := n.Path + ": " + n.Message
			if n.Fix != "" {
				line += " (" + n.Fix + ")"
			}
			fmt.Fprintf(w, "    %s\n", console.Clean(display.OneLine(line)))
		}
	}
}

func summary(v catalog.View, shadowed, unlisted int, all bool) string {
	n := len(v.Entries) - len(v.Skipped) - shadowed - unlisted
	s := display.Count(n, "skill")
	if shadowed > 0 {
		s += fmt.Sprintf(", %d shadowed", shadowed)
	}
	if unlisted > 0 {
		s += fmt.Sprintf(", %d unlisted", unlisted)
	}
	if len(v.Skipped) > 0 {
		s += fmt.Sprintf(", %d skipped", len(v.Skipped))
	}
	failed, notices := 0, 0
	for _, r := range v.Roots {
		notices += len(r.Notices)
		if r.Err != nil {
			failed++
		}
	}
	if failed > 0 {
		s += ", " + display.Count(failed, "root") + " not readable"
	}
	if notices > 0 {
		s += ", " + display.Count(notices, "notice")
	}
	if !all && shadowed+unlisted+len(v.Skipped)+failed+notices > 0 {
		s += " (knack list --all shows which and why)"
	}
	return s
}
