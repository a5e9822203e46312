// Package trial is the command eval: which skills and prompts it takes, and how it prints what came
// of them. Package eval measures.
package trial

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/eval"
	"github.com/knack-dev/knack/internal/command"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/tool"
)

// Skills are what the flags about skills choose.
type Skills interface {
	// Register adds the flags.
	Register(cmd *cobra.Command)
	// Tools returns the tools of --tools, and their name.
	Tools(flag string) (set string, tools []*tool.Tool, err error)
	// Host reads the skills for a set of tools.
	Host(ctx context.Context, set string) (*tool.Host, error)
	// Named returns the skills that words name.
	Named(v catalog.View, words []string) ([]*catalog.Entry, error)
}

// evaluation is one run of the command.
type evaluation struct {
	env    *console.Env
	skills Skills
	set    string // the file of --set
	among  string
	least  float64
	search bool // --no-model
	asJSON bool
	tools  []*tool.Tool
	sample int // of --among; 0 for all
}

// Command is knack eval.
func Command(env *console.Env, skills Skills) *cobra.Command {
	c := &evaluation{env: env, skills: skills}
	var set string
	cmd := &cobra.Command{
		Use:        "eval [SKILL]…",
		SuggestFor: []string{"evals", "evaluate", "trigger", "triggers", "test", "measure"},
		Short:      "Measure whether a skill is taken for the prompts that it is for",
		Long: `Measure whether a skill is taken for the prompts that it is for, among all the
others. Without a SKILL, every skill that has prompts.

The prompts are in evals/triggers.json of the skill:

  [{"query": "merge these two PDFs", "should_trigger": true},
   {"query": "print this page", "should_trigger": false}]

If there is no such file, the prompts of evals/evals.json should all trigger.
--set FILE has a list for the one SKILL, or for several, if each query has a
third member "skill".

With --no-model, the search of find_skills is asked: a query passes if the skill
is among the first 3. A search cannot answer that no skill fits, so queries that
should not trigger are shown and do not count. The same skills and prompts give
the same figures. doc/eval.md shows how a description gets better by them.

The exit status is 1 if fewer queries pass than --min.`,
		Example: `  knack eval --no-model pdf        # the place of pdf for each of its prompts
  knack eval --no-model --set prompts.json pdf
  knack eval --no-model --json     # every skill that has prompts`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if !c.search {
				return command.UsageError("add it", "eval requires --no-model")
			}
			if err := c.check(cmd.Flags().Changed("set")); err != nil {
				return err
			}
			if set, c.tools, err = skills.Tools(set); err != nil {
				return err
			}
			host, err := skills.Host(cmd.Context(), set)
			if err != nil {
				return err
			}
			return c.run(cmd.Context(), host, args)
		},
	}
	skills.Register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&c.set, "set", "", "take the prompts from `FILE`")
	flags.BoolVar(&c.search, "no-model", false, "ask the search in place of a model")
	flags.StringVar(&set, "tools", tool.DefaultSet, "the tools of `SET`: "+strings.Join(tool.SetNames(), ", ")+"; several separated by commas")
	flags.StringVar(&c.among, "among", "all", "measure among all skills, or among `N` others, always the same")
	flags.Float64Var(&c.least, "min", 0.8, "end with status 1 if a smaller `SHARE` of the queries passes")
	flags.BoolVar(&c.asJSON, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("tools", cobra.FixedCompletions(tool.SetNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagFilename("set", "json")
	return cmd
}

// check reports flags whose values cannot be used.
func (c *evaluation) check(setGiven bool) error {
	if setGiven && c.set == "" {
		return command.UsageError("give a file, or leave --set out", "--set: the file's name is empty")
	}
	if !(c.least >= 0 && c.least <= 1) {
		return command.UsageError("give a share, for example 0.8", "--min %v: it must be between 0 and 1", c.least)
	}
	if c.among != "all" {
		n, err := strconv.Atoi(c.among)
		if err != nil || n < 1 {
			return command.UsageError("give a whole number of at least 1, or all", "--among %s: it is neither", display.Echo(c.among))
		}
		c.sample = n
	}
	return nil
}

// within returns the context in which only the skills are seen among which one is measured.
func (c *evaluation) within(ctx context.Context, v catalog.View, e *catalog.Entry) context.Context {
	if c.sample == 0 {
		return ctx
	}
	return catalog.WithFilter(ctx, eval.Sample(tool.Offered(v, c.tools), e, c.sample))
}

func (c *evaluation) run(ctx context.Context, host *tool.Host, words []string) error {
	v, err := host.Catalog.View(ctx)
	if err != nil {
		return err
	}
	subjects, faults, err := c.subjects(v, words)
	if err != nil {
		return err
	}
	ranked, err := c.rank(ctx, host, v, subjects)
	if err != nil {
		return command.RunError("", "the search was interrupted: %w", err)
	}
	if c.asJSON {
		err = console.PrintJSON(c.env.Stdout, rankedJSON(ranked, c.least))
	} else {
		printRanked(c.env.Out(), ranked)
	}
	if err != nil {
		return err
	}
	if err := c.report(faults); err != nil {
		return err
	}
	return c.judge(total(ranked), "queries have their skill among the first 3", "knack search --explain 'QUERY' shows which words were found where")
}

// report prints the faults of files, and returns the failure that they are.
func (c *evaluation) report(faults []error) error {
	for i, err := range faults {
		fault := (*eval.Error)(nil)
		errors.As(err, &fault)
		if i == len(faults)-1 {
			return command.Fail(command.Error, fault, fault.Fix)
		}
		c.env.Err().Text(console.Error, fault.Error()+" ("+fault.Fix+")")
	}
	return nil
}

// judge returns the failure of a figure below --min.
func (c *evaluation) judge(passed eval.Rate, what, hint string) error {
	if passed.Of == 0 || passed.Value() >= c.least {
		return nil
	}
	return command.Fail(command.No, fmt.Errorf("%d of %d %s, and --min is %v", passed.Hits, passed.Of, what, c.least), hint)
}
