// Package evalcmd implements the command eval. It chooses skills and prompts, measures them with
// package eval, and prints the results.
package evalcmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/chatcmd"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/llm/eval"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/tool"
)

// evaluation is one run of the command.
type evaluation struct {
	env  *console.Env
	from selection.Flags
	asking
	files   *settings.Finder
	set     string // the --set file
	among   string
	least   float64
	search  bool // set by --no-model
	asJSON  bool
	tools   []*tool.Tool
	toolSet string // the name of the tool set
	sample  int    // the value of --among; 0 for all
}

// Command returns the command eval.
func Command(env *console.Env) *cobra.Command {
	c := &evaluation{env: env}
	cmd := &cobra.Command{
		Use:   "eval [SKILL]…",
		Short: "Measure whether a skill is taken for the prompts that it is for",
		Long: `Measure whether a skill is taken for the prompts that it is for, among all the
others. Without a SKILL, every skill that has prompts.

The prompts are in evals/triggers.json of the skill:

  [{"query": "merge these two PDFs", "should_trigger": true},
   {"query": "print this page", "should_trigger": false}]

If there is no such file, the prompts of evals/evals.json should all trigger.
--set FILE has a list for the one SKILL, or for several, if each query has a
third member "skill".

Each prompt begins --runs conversations with the model that 'knack chat' would
talk to, or with each --model. The model has the tools of --tools and no others.
A conversation ends as soon as a skill is loaded, or the model has answered, or
after 3 requests. A prompt passes if the skill was loaded in at least half of
them; one that should not trigger, if in less than half. More than 50 requests
need a yes.

With --no-model, the search of find_skills is asked: a prompt passes if the
skill is among the first 3. A search cannot answer that no skill fits, so
prompts that should not trigger are shown and do not count. The same skills and
prompts give the same figures.

The exit status is 1 if fewer prompts pass than --min.`,
		Example: `  knack eval --no-model review      # its place for each of its prompts
  knack eval --runs 5 review        # how often a model loads it
  knack eval --no-model --set prompts.json review`,
		RunE: command.Returning(env, func(cmd *cobra.Command, args []string) (command.Result, error) {
			if err := c.check(cmd.Flags().Changed); err != nil {
				return nil, err
			}
			return c.run(cmd.Context(), args)
		}),
	}
	c.from.Register(cmd, env)
	c.from.RegisterConfig(chatcmd.ConfigUsage)
	c.from.RegisterTools("")
	cmd.ValidArgsFunction = c.from.CompleteSkill(selection.Skill)
	c.wanted.Register(cmd)
	flags := cmd.Flags()
	flags.Var(&c.models, "model", "ask `NAME`: one of chat.models in knack.yaml, or a model of the endpoint (repeatable)")
	flags.IntVar(&c.runs, "runs", 3, "begin `N` conversations with each prompt")
	flags.BoolVarP(&c.yes, "yes", "y", false, "make more than 50 requests without a question")
	flags.StringVar(&c.set, "set", "", "take the prompts from `FILE`")
	flags.BoolVar(&c.search, "no-model", false, "ask the search in place of a model")
	flags.StringVar(&c.among, "among", "all", "measure among all skills, or among `N` others, always the same")
	flags.Float64Var(&c.least, "min", 0.8, "end with status 1 if a smaller `SHARE` of the prompts passes")
	flags.BoolVar(&c.asJSON, "json", false, "print JSON")
	_ = cmd.MarkFlagFilename("set", "json")
	return cmd
}

// check returns an error for flags whose values cannot be used.
func (c *evaluation) check(given func(string) bool) error {
	switch {
	case given("set") && c.set == "":
		return command.UsageError("give a file, or leave --set out", "--set: the file's name is empty")
	case !(c.least >= 0 && c.least <= 1):
		return command.UsageError("give a share, for example 0.8", "--min %v: it must be between 0 and 1", c.least)
	case c.runs < 1:
		return command.UsageError("give a whole number of at least 1", "--runs %d: it must be at least 1", c.runs)
	}
	for _, flag := range []string{"model", "url", "wire", "key-env", "runs", "yes"} {
		if c.search && given(flag) {
			return command.UsageError("leave one of them out", "--%s is about a model, and --no-model asks none", flag)
		}
	}
	if c.among != "all" {
		n, err := strconv.Atoi(c.among)
		if err != nil || n < 1 {
			return command.UsageError("give a whole number of at least 1, or all", "--among %s: it is neither a number nor 'all'", display.Echo(c.among))
		}
		c.sample = n
	}
	return nil
}

// within returns a context limited to the skills among which e is measured.
func (c *evaluation) within(ctx context.Context, v catalog.View, e *catalog.Entry) context.Context {
	if c.sample == 0 {
		return ctx
	}
	return catalog.WithFilter(ctx, eval.Sample(tool.Offered(v, c.tools), e, c.sample))
}

func (c *evaluation) run(ctx context.Context, words []string) (r command.Result, err error) {
	w, err := c.from.Open()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	c.tools, c.toolSet = w.Tools()
	c.files = w.Files()
	host, err := w.Host(ctx)
	if err != nil {
		return nil, err
	}
	v, err := host.Catalog.View(ctx)
	if err != nil {
		return nil, err
	}
	subjects, faults, err := c.subjects(v, words)
	if err != nil {
		return nil, err
	}
	var passed eval.Rate
	what, hint := "prompts pass", "say in the description, in the words of these prompts, what the skill does and when to use it"
	switch {
	case len(subjects) == 0: // every file has a fault
	case c.search:
		what, hint = "prompts have their skill among the first 3", c.env.Command("search", "--explain", "PROMPT")+" shows which words were found where"
		r, passed, err = c.rank(ctx, host, v, subjects)
	default:
		r, passed, err = c.ask(ctx, host, v, subjects)
	}
	switch {
	case err != nil:
	case len(faults) > 0:
		err = faultsError(faults)
	case passed.Of > 0 && passed.Value() < c.least:
		err = command.Fail(command.No, fmt.Errorf("%d of %d %s, and --min is %v", passed.Hits, passed.Of, what, c.least), hint)
	}
	return r, err
}

// faultsError returns the error for faults in files of prompts.
func faultsError(faults []error) (err error) {
	var others []command.Other
	for i, f := range faults {
		fault := (*eval.Error)(nil)
		errors.As(f, &fault)
		if i == len(faults)-1 {
			err = command.Fail(command.Error, fault, fault.Fix)
		} else {
			others = append(others, command.Other{Word: console.Error, Text: fault.Error() + " (" + fault.Fix + ")"})
		}
	}
	return command.WithOthers(err, others)
}
