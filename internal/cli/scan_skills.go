package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/approvecmd"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/skill"
)

type scanFlags struct {
	from     selection.Flags
	named    namedSkills
	format   string
	lane     string
	strict   bool
	baseline string
	write    bool
	done     []func()                        // called once the skills are scanned
	known    map[*skill.Skill]*catalog.Entry // the skills to scan that knack list has

	against approvecmd.Comparison
}

func scanCommand(env *console.Env) *cobra.Command {
	var f scanFlags
	cmd := &cobra.Command{
		Use:   "scan [PATH | SKILL | SOURCE]…",
		Short: "Report what skills would run, read and send, and find hostile ones",
		Long: `Say what skills would do: which programs, hosts and paths they name, what is
worth a look (review), and what no honest skill does (enforce). Without a PATH,
all skills that 'knack list' knows, without the built-in ones. Of a SOURCE, as
'knack add' takes it, all skills, or the one behind //; nothing is installed.

A finding to review is a fact and no verdict. A skill without findings is not
proven harmless. The same files give the same findings. Nothing is run, and no
server is asked.

With --baseline FILE, the findings in that file are known and left out, and new
ones count. A finding stays known if its line moves. --write makes the findings
of this run the known ones. Paths in the file begin at the folder that is
scanned, so it works in another clone.

The exit status is 1 if there is a finding to enforce (with --strict, any). For
a skill that 'knack list' knows, scan.rules and scan.accept of your knack.yaml
count; below a PATH they do not.`,
		Example: `  knack scan                          # every skill that list knows
  knack scan ~/.claude/skills/review  # one, with what it names
  knack scan --baseline known.json --write .  # what is new, without --write`,
		RunE: command.Returning(env, func(cmd *cobra.Command, args []string) (command.Result, error) {
			if command.IsJSON(cmd) {
				f.format = "json"
			}
			if err := cmp.Or(command.GivenEmpty(cmd, "baseline", "a file", "the file's name"), command.NoConfig(cmd)); err != nil {
				return nil, err
			}
			return scanSkills(cmd.Context(), env, &f, args)
		}),
	}
	approvecmd.Register(cmd, env, &f.from)
	f.named = namedSkills{env: env, from: &f.from}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "text", "print `FORMAT`: text, json, sarif or github")
	flags.Bool("json", false, "print a JSON object; the same as --format json")
	flags.StringVar(&f.lane, "lane", "review", "print the findings of this `LANE`: enforce, or review, which has both")
	flags.BoolVar(&f.strict, "strict", false, "end with status 1 for any finding")
	f.against.Register(cmd)
	flags.StringVar(&f.baseline, "baseline", "", "leave out the findings that are known from `FILE`")
	flags.BoolVar(&f.write, "write", false, "write the findings of this run to the file of --baseline")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json", "sarif", "github"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("lane", cobra.FixedCompletions([]string{"enforce", "review"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func scanSkills(ctx context.Context, env *console.Env, f *scanFlags, words []string) (command.Result, error) {
	if !slices.Contains(report.Formats, f.format) {
		return nil, command.UsageError(typo.Hint(f.format, report.Formats, "the formats are text, json, sarif and github"), "--format %s: there is no such format", f.format)
	}
	lanes := []string{string(scan.Enforce), string(scan.Review)}
	if !slices.Contains(lanes, f.lane) {
		return nil, command.UsageError(typo.Hint(f.lane, lanes, "the lanes are enforce and review"), "--lane %s: there is no such lane", f.lane)
	}
	defer f.named.close()
	if f.against.Text || f.from.Given("against") {
		f.against.Format, f.against.Strict = f.format, f.strict
		if f.lane == string(scan.Enforce) {
			f.against.Only = scan.Enforce
		}
		return f.against.Run(ctx, env, compared{&f.named, f}, words)
	}
	known, err := f.readBaseline(env)
	if err != nil {
		return nil, err
	}
	entries, one, unread, err := f.entries(ctx, env, words)
	defer func() {
		for _, done := range f.done {
			done()
		}
	}()
	if err != nil {
		return nil, err
	}
	run := &report.ScanRun{}
	isKnown := func(e *catalog.Entry) bool { return f.known[e.Skill] != nil }
	if run.Skills, err = f.scan(ctx, env, entries, isKnown); err != nil {
		return nil, workspace.Interrupted(err)
	}
	for _, s := range run.Skills {
		if e := f.known[s.Skill]; e != nil {
			if s.Accepted, err = s.Accept(func(rule skill.RuleID) (string, error) { return f.named.opened.Accepted(ctx, e, rule) }); err != nil {
				return nil, err
			}
		}
	}
	if known != nil {
		for _, s := range run.Skills {
			if !one {
				s.Place = s.Folder
			}
		}
		if f.write && unread == nil {
			if err := known.rewrite(env, run); err != nil {
				return nil, err
			}
		}
		known.silence(run)
	}
	switch enforce := run.Count(scan.Enforce); {
	case unread != nil && f.format == "text" && len(run.Skills) == 0:
		return nil, unread // nothing was read; the other formats have an empty report
	case unread != nil:
		return run, unread
	case enforce > 0 || f.strict && run.Count(scan.Review) > 0:
		if f.format == "text" {
			return run, command.Fail(command.No, command.ErrPrinted, "")
		}
		return run, command.Fail(command.No, fmt.Errorf("%s in %s", display.Count(enforce+run.Count(scan.Review), "finding"), display.Count(len(run.Skills), "skill")), "")
	}
	return run, nil
}

// entries returns the skills that words name. Without words it returns all skills of knack list
// except the built-in ones. one is set if the words are a single path. unread reports the words
// that are neither a path nor a skill.
func (f *scanFlags) entries(ctx context.Context, env *console.Env, words []string) (all []*catalog.Entry, one bool, unread error, err error) {
	if len(words) == 0 {
		v, err := f.named.scan(ctx)
		if err != nil {
			return nil, false, nil, err
		}
		all = slices.DeleteFunc(slices.Clone(v.Entries), func(e *catalog.Entry) bool { return e.Root.Scope == skill.ScopeBuiltin })
		all, err = f.know(ctx, all)
		return all, false, nil, err
	}
	var rest []string
	for _, word := range words {
		if !isOutside(env, word, true) {
			rest = append(rest, word)
			continue
		}
		entries, done, err := outside(ctx, env, f.from.Config, word)
		if err != nil {
			return nil, false, nil, err
		}
		f.done = append(f.done, done)
		all = append(all, entries...)
	}
	if words = rest; len(words) == 0 {
		return all, false, nil, nil
	}
	places, names, missing, err := targets(ctx, env, &f.named, words)
	if err != nil {
		return nil, false, nil, err
	}
	run, err := scanTargets(ctx, env, places, &f.named)
	if err != nil {
		return nil, false, nil, err
	}
	for _, s := range run.skills {
		all = append(all, s.Entry)
	}
	for _, name := range names {
		v, err := f.named.scan(ctx)
		if err != nil {
			return nil, false, nil, err
		}
		if selection.IsPattern(name) {
			fitting, none := selection.Named(env, v, []string{name})
			if fitting, err = f.know(ctx, fitting); err != nil {
				return nil, false, nil, err
			}
			all, missing = append(all, fitting...), append(missing, none...)
			continue
		}
		e, _, err := selection.Find(env, v, name, func(*catalog.Entry) bool { return true })
		if none := (*command.Failure)(nil); errors.As(err, &none) && none.Code == command.No {
			missing = append(missing, none)
			continue
		} else if err != nil {
			return nil, false, nil, err
		}
		known, err := f.know(ctx, []*catalog.Entry{e})
		if err != nil {
			return nil, false, nil, err
		}
		all = append(all, known...)
	}
	return all, len(places) == 1 && len(names) == 0, command.Joined(append(missing, run.unread...), notChecked), nil
}

// know returns skills that knack list has, each with its files on the disk. It records them, since
// the operator's lanes and accepted findings apply to them.
func (f *scanFlags) know(ctx context.Context, listed []*catalog.Entry) (all []*catalog.Entry, err error) {
	for _, e := range listed {
		if e, err = f.named.unlocked(ctx, e); err != nil {
			return nil, err
		}
		if f.known == nil {
			f.known = map[*skill.Skill]*catalog.Entry{}
		}
		f.known[e.Skill] = e
		all = append(all, e)
	}
	return all, nil
}

// scan scans each skill once, on all processors. The operator's lanes apply to the governed skills,
// but only if knack list has at least one of the skills to scan.
func (f *scanFlags) scan(ctx context.Context, env *console.Env, entries []*catalog.Entry, governed func(*catalog.Entry) bool) ([]*report.Scanned, error) {
	plain := scan.Options{}
	if scan.Lane(f.lane) == scan.Enforce {
		plain.Only = scan.Enforce
	}
	moved := plain
	if len(f.known) > 0 {
		var err error
		if moved.Lanes, err = f.named.opened.Lanes(); err != nil {
			return nil, err
		}
	}
	options := func(e *catalog.Entry) scan.Options {
		if governed(e) {
			return moved
		}
		return plain
	}
	var n atomic.Int64
	defer console.ShowProgress(env, console.Step{What: "scanning skills", Count: func() (int, int) { return int(n.Load()), len(entries) }})()
	all := make([]*report.Scanned, len(entries))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, e := range entries {
		if e.FS == nil {
			continue
		}
		group.Go(func() error {
			defer n.Add(1)
			r, err := scan.Loaded(ctx, e.Skill, options(e))
			if err != nil {
				return err
			}
			all[i] = &report.Scanned{Report: r, Name: e.Name, Folder: skill.Join(e.Root.Shown, e.Path), Place: e.Path, Skill: e.Skill}
			if files, err := e.Manifest(ctx, nil); err == nil {
				all[i].Set = skill.SetOf(files).String()
			}
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	named := make([]scan.Named, len(entries))
	for i, e := range entries {
		named[i] = scan.Named{Name: e.Name, Origin: e.Root.Shown}
	}
	for i, f := range scan.Near(named, func(i int) scan.Options { return options(entries[i]) }) {
		if all[i] != nil {
			all[i].Add(f)
		}
	}
	all = slices.DeleteFunc(all, func(s *report.Scanned) bool { return s == nil })
	slices.SortStableFunc(all, func(a, b *report.Scanned) int { return cmp.Compare(a.Folder, b.Folder) })
	return all, nil
}
