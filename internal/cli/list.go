package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

func listCommand(env *Env) *cobra.Command {
	var from sourceFlags
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show the skills that are available; with --all also those that are not, and why",
		Args:  between(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := from.view(cmd.Context(), *env)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(env.Stdout, listJSON(cmd.Context(), v, all))
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

// listing is the JSON form of list. Skills holds every available skill, those
// that another one shadows marked by their status; with --all the skipped too.
type listing struct {
	Skills []listedSkill `json:"skills"`
	Roots  []listedRoot  `json:"roots"`
}

type listedSkill struct {
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Status      catalog.Status  `json:"status"`
	Available   bool            `json:"available"`
	Publishable bool            `json:"publishable"`
	URI         string          `json:"uri,omitempty"`
	Root        string          `json:"root"`
	Scope       skill.Scope     `json:"scope"`
	Path        string          `json:"path"`
	File        string          `json:"file"`
	Dir         string          `json:"dir,omitempty"`
	Link        string          `json:"link,omitempty"`
	By          string          `json:"by,omitempty"`
	NotForModel bool            `json:"notForModels,omitempty"`
	Variants    []string        `json:"variants,omitempty"`
	Problems    []listedProblem `json:"problems,omitempty"`
}

type listedProblem struct {
	Rule     skill.RuleID   `json:"rule"`
	Severity skill.Severity `json:"severity"`
	Line     int            `json:"line,omitempty"`
	Column   int            `json:"column,omitempty"`
	Message  string         `json:"message"`
	Mend     string         `json:"mend,omitempty"`
}

type listedRoot struct {
	Label   string         `json:"label"`
	Scope   skill.Scope    `json:"scope"`
	Dir     string         `json:"dir,omitempty"`
	Present bool           `json:"present"`
	Count   int            `json:"count"`
	Error   string         `json:"error,omitempty"`
	Mend    string         `json:"mend,omitempty"`
	Notices []listedNotice `json:"notices,omitempty"`
}

type listedNotice struct {
	Path    string       `json:"path"`
	Rule    skill.RuleID `json:"rule"`
	Message string       `json:"message"`
	Mend    string       `json:"mend,omitempty"`
	Err     error        `json:"-"` // Message has it in words
}

func listJSON(ctx context.Context, v catalog.View, all bool) listing {
	out := listing{Skills: []listedSkill{}, Roots: rootsJSON(v, all)}
	for _, e := range v.Entries {
		if e.Status != catalog.Skipped && e.Status != catalog.Unlisted || all {
			out.Skills = append(out.Skills, skillJSON(e, publishable(ctx, e)))
		}
	}
	return out
}

func rootsJSON(v catalog.View, all bool) []listedRoot {
	out := []listedRoot{}
	for _, r := range v.Roots {
		if r.Missing && r.Err == nil && len(r.Notices) == 0 && !all {
			continue
		}
		root := listedRoot{Label: r.Label, Scope: r.Scope, Dir: r.Dir, Present: !r.Missing, Count: r.Count}
		if r.Err != nil {
			root.Error, root.Mend = r.Reason()
		}
		for _, n := range r.Notices {
			root.Notices = append(root.Notices, listedNotice(n))
		}
		out = append(out, root)
	}
	return out
}

func skillJSON(e *catalog.Entry, publishable bool) listedSkill {
	s := listedSkill{
		Name: e.Name, Description: e.Description, Status: e.Status, Available: e.Available, Publishable: publishable,
		URI: e.URI().String(), Root: e.Root.Label, Scope: e.Root.Scope, Path: e.Path, File: e.Place(), Dir: e.Dir(), Link: e.Link(),
		NotForModel: !e.ModelInvocable, Variants: e.Others(),
	}
	if e.By != nil {
		s.By = e.By.URI().String()
	}
	for _, p := range e.Problems {
		s.Problems = append(s.Problems, listedProblem{
			Rule: p.Rule, Severity: skill.RuleOf(p.Rule).Severity, Line: p.Position.Line, Column: p.Position.Column,
			Message: p.Message, Mend: p.Mend,
		})
	}
	return s
}

// publishable reports whether the Skills extension's lists would have the skill, as
// doctor says why they do not: its files count too.
func publishable(ctx context.Context, e *catalog.Entry) bool {
	if !e.Publishable || e.Status == catalog.Skipped {
		return false
	}
	in, err := lookInside(ctx, e)
	return err == nil && len(unpublished(e, in)) == 0
}

// printList shows names, where each lies, and descriptions cut to the terminal.
func printList(env *Env, v catalog.View, all bool) {
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
		printRest(w, v)
	}
	fmt.Fprintln(w, summary(v, shadowed, unlisted, all))
}

func heading(r skill.Root) string {
	if r.Dir == "" {
		return r.Label
	}
	return r.Label + " (" + clean(r.Shown) + ")"
}

// printSkill prints a skill in one line, under the name by which it is called.
func printSkill(env *Env, e *catalog.Entry, called string, width int) {
	name := clean(skill.OneLine(called))
	pad := strings.Repeat(" ", max(width-utf8.RuneCountInString(name), 0))
	description := clean(skill.OneLine(e.Description))
	if env.Width > 0 {
		description = tool.Cut(description, max(env.Width-width-4, 20))
	} else {
		description = tool.Cut(description, 100)
	}
	mark := ""
	if !e.ModelInvocable {
		mark = "(not for models) "
	}
	fmt.Fprintf(env.Stdout, "  %s%s  %s%s\n", name, pad, mark, description)
}

func printRest(w io.Writer, v catalog.View) {
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
			fmt.Fprintf(w, "  %s  %s %s; load it as %s\n", clean(e.Place()), what, clean(e.By.Place()), clean(v.Called(e)))
		}
	}
	printUnlisted(w, v)
	if len(v.Skipped) > 0 {
		fmt.Fprintln(w, "skipped")
	}
	for _, e := range v.Skipped {
		fmt.Fprintf(w, "  %s\n", clean(tool.Reason(e)))
	}
	printVariants(w, v)
	printRoots(w, v)
}

// printUnlisted names the skills of excluded roots, and what loads them.
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
		fmt.Fprintf(w, "  %s  is of a root that --exclude names; load it as %s\n", clean(e.Place()), clean(v.Called(e)))
	}
}

// printVariants accounts for further spellings of SKILL.md beside the one read.
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
		fmt.Fprintf(w, "  %s  lies beside %s\n", clean(strings.Join(e.Others(), ", ")), clean(e.Place()))
	}
}

func printRoots(w io.Writer, v catalog.View) {
	fmt.Fprintln(w, "roots")
	for _, r := range v.Roots {
		state := fmt.Sprintf("%d found", r.Count)
		switch {
		case r.Err != nil:
			state = unread(r)
		case r.Missing:
			state = "not there"
		}
		fmt.Fprintf(w, "  %s: %s\n", heading(r.Root), clean(state))
		for _, n := range r.Notices {
			line := n.Path + ": " + n.Message
			if n.Mend != "" {
				line += " (" + n.Mend + ")"
			}
			fmt.Fprintf(w, "    %s\n", clean(skill.OneLine(line)))
		}
	}
}

// unread is why a root is not read and what to do, for a line that names it.
func unread(r catalog.RootStatus) string {
	reason, mend := r.Reason()
	if !r.Late() {
		reason = "cannot be read: " + reason
	}
	return reason + " (" + mend + ")"
}

func summary(v catalog.View, shadowed, unlisted int, all bool) string {
	n := len(v.Entries) - len(v.Skipped) - shadowed - unlisted
	s := skill.Count(n, "skill")
	if shadowed > 0 {
		s += fmt.Sprintf(", %d shadowed", shadowed)
	}
	if unlisted > 0 {
		s += fmt.Sprintf(", %d unlisted", unlisted)
	}
	if len(v.Skipped) > 0 {
		s += fmt.Sprintf(", %d skipped", len(v.Skipped))
	}
	failed, passed := 0, 0
	for _, r := range v.Roots {
		passed += len(r.Notices)
		if r.Err != nil {
			failed++
		}
	}
	if failed > 0 {
		s += ", " + skill.Count(failed, "root") + " not readable"
	}
	if passed > 0 {
		s += fmt.Sprintf(", %d passed over", passed)
	}
	if !all && shadowed+unlisted+len(v.Skipped)+failed+passed > 0 {
		s += " (knack list --all says which and why)"
	}
	return s
}
