package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/search"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/listing"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/tool"
)

func searchCommand(env *console.Env) *cobra.Command {
	var from selection.Flags
	var limit int
	var explain bool
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Find skills by words, the best match first",
		Long: `Find skills by words of their name, tags, description or text, best first.

A skill is found if one word matches: unchanged, with another ending, as a
prefix, in a common short form (js), or with a letter or two wrong. Case and
accents do not count. Of the text, the headings and the beginning are searched.
Skills that are hidden from models are found too, and marked; models do not
find them.`,
		Example: `  knack search review a pull request
  knack search --explain -n 3 review   # which words matched, and where`,
		Args: func(cmd *cobra.Command, args []string) error {
			if !search.HasWords(strings.Join(args, " ")) {
				return command.UsageError("usage: "+cmd.UseLine(), "%s requires words to search for", cmd.CommandPath())
			}
			return nil
		},
		RunE: command.Returning(env, func(cmd *cobra.Command, args []string) (command.Result, error) {
			if limit < 1 {
				return nil, command.UsageError("give a whole number of at least 1", "--limit %d: it must be at least 1", limit)
			}
			w, err := from.Open()
			if err != nil {
				return nil, err
			}
			defer w.Close()
			v, err := w.View(cmd.Context())
			if err != nil {
				return nil, err
			}
			query := strings.Join(args, " ")
			done := console.ShowProgress(env, console.Step{What: "reading headings", Count: func() (int, int) { return int(w.Catalog().Indexed()), 0 }, Unit: "skills"})
			found, err := v.Search(cmd.Context(), catalog.Query{Text: query, Limit: limit, People: true, Explain: explain || command.IsJSON(cmd)})
			done()
			if err != nil {
				return nil, command.RunError("", "the search was interrupted: %w", err)
			}
			r := command.Forms{Text: func(env *console.Env) { listing.PrintFound(env.Out(), v, found, explain) }}
			if command.IsJSON(cmd) {
				r.Value = searchJSON(cmd.Context(), v, quickly(w), query, found)
			}
			if found.Total == 0 {
				return r, notFound(env, v, query)
			}
			return r, nil
		}),
	}
	from.Register(cmd, env)
	from.RegisterConfig(selection.RootsUsage)
	cmd.Flags().IntVarP(&limit, "limit", "n", 10, "show at most `N` skills")
	cmd.Flags().BoolVar(&explain, "explain", false, "print below each skill which words matched, where and how")
	cmd.Flags().Bool("json", false, "print JSON, with the reasons")
	return cmd
}

func notFound(env *console.Env, v catalog.View, query string) error {
	hint := "try other words; " + env.Command("list") + " shows all skills"
	for _, word := range append([]string{query}, strings.Fields(display.CutBytes(query, display.EchoLimit))...) {
		if near := v.SkippedNear(word, 1); len(near) > 0 {
			hint = tool.Reason(near[0])
			break
		}
	}
	return command.Fail(command.No, fmt.Errorf("no skill matches '%s'", display.Echo(query)), hint)
}

// searching is the JSON form of the result of search.
type searching struct {
	Query  string        `json:"query"`
	Total  int           `json:"total"`
	Skills []foundSkills `json:"skills"`
}

type foundSkills struct {
	Called string  `json:"called"` // the name that loads it
	Score  float32 `json:"score"`
	doctor.Skill
	Matches []foundMatch `json:"matches"`
}

type foundMatch struct {
	Word  string `json:"word"`
	Term  string `json:"term"`
	Field string `json:"field"`
	How   string `json:"how"`
}

func searchJSON(ctx context.Context, v catalog.View, judge judgement.Judge, query string, found catalog.Found) searching {
	out := searching{Query: query, Total: found.Total, Skills: []foundSkills{}}
	for _, h := range found.Hits {
		f := foundSkills{Called: v.Called(h.Entry), Score: h.Score, Skill: doctor.SkillOf(judge.Of(ctx, h.Entry))}
		for _, m := range h.Matches {
			f.Matches = append(f.Matches, foundMatch{m.Word, m.Term, m.Field, m.How})
		}
		out.Skills = append(out.Skills, f)
	}
	return out
}
