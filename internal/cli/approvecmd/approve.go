// Package approvecmd implements the commands approve and revoke, and the comparison of scan
// --against, which compares skills with an earlier state.
package approvecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/policy/admission"
	"github.com/knack-dev/knack/internal/policy/approvals"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

// Commands returns the commands approve and revoke.
func Commands(env *console.Env) []*cobra.Command {
	return []*cobra.Command{approveCommand(env), revokeCommand(env)}
}

// Register adds the flags of a command that reads approvals and also reads held-back skills.
func Register(cmd *cobra.Command, env *console.Env, from *selection.Flags) {
	from.Unguarded = true
	from.Register(cmd, env)
	from.RegisterConfig(configUsage)
	cmd.ValidArgsFunction = from.CompleteSkill(selection.Skill)
}

const configUsage = "the skills are those of the roots and sources that `FILE` names, and the approvals are its own"

type approveFlags struct {
	from          selection.Flags
	reason, until string
	accept        []string
	list, remove  bool
	dryRun        bool
}

func approveCommand(env *console.Env) *cobra.Command {
	var f approveFlags
	cmd := &cobra.Command{
		Use:   "approve SKILL... | --list",
		Short: "Approve the files of skills as they are now, or list approvals",
		Long: `Approve the files of skills as they are now. The approval has the digest of each
file, so that it ends when one of them changes: 'knack scan --against approved'
then says what is new. The set that is printed is the digest of all these files,
as scan.accept and 'knack scan --json' have it; knack.lock has another one.

SKILL is a name, a folder, a skill:// URI ('knack help names') or a pattern such
as 'skill://acme/**', as in scan.approve. The skill has to be one that list
knows, with the same --dir or --config as the server's: an approval is for its
URI. The approvals are in approvals.json beside your knack.yaml; the key
approvals names another file. If a skill cannot be approved, it is named, and
the others are.

A server with scan.mode enforce holds back an approved skill that has a finding
to enforce. --accept RULE also accepts the findings of that rule in the skills:
it writes them into scan.accept of your knack.yaml, or of the file of --config,
with --reason and the digest of the files.

--remove removes the approvals of skills; of a skill that is gone, give the URI
that --list prints.`,
		Example: `  knack approve review --reason "read by anna"
  knack approve 'skill://**' --until 2027-01-31
  knack approve --list                     # and what has changed since
  knack approve --remove review`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return command.ArgCount(0, 0, "no skills with --list")(cmd, args)
			}
			return command.ArgCount(1, 1000, "at least one skill, or --list")(cmd, args)
		},
		RunE: command.Returning(env, func(cmd *cobra.Command, args []string) (command.Result, error) {
			for mode, on := range map[string]bool{"list": f.list, "remove": f.remove} {
				for _, flag := range []string{"list", "reason", "until", "accept", "dry-run"} {
					if on && flag != mode && cmd.Flags().Changed(flag) {
						return nil, command.UsageError("leave one of them out", "--%s is not used with --%s", flag, mode)
					}
				}
			}
			if f.list {
				return listApprovals(cmd.Context(), env, &f)
			}
			if command.IsJSON(cmd) {
				return nil, command.UsageError("add --list, or leave it out", "--json is used with --list alone")
			}
			if f.remove {
				return nil, revokeSkills(cmd.Context(), env, &f.from, args)
			}
			return nil, approveSkills(cmd.Context(), env, &f, args)
		}),
	}
	Register(cmd, env, &f.from)
	skills := cmd.ValidArgsFunction
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if !f.remove {
			return skills(cmd, args, typed)
		}
		return completeApproved(cmd.Context(), env, &f.from, typed), cobra.ShellCompDirectiveNoFileComp
	}
	s := cmd.Flags()
	s.StringVar(&f.reason, "reason", "", "note `TEXT` with the approval")
	s.StringVar(&f.until, "until", "", "the approval ends after `DATE`, such as 2027-01-31, in UTC")
	s.Var((*command.Repeated)(&f.accept), "accept", "also accept the findings of `RULE` in these bytes, so that they hold no skill back (repeatable)")
	s.BoolVar(&f.list, "list", false, "list the approvals, and what has changed since or is gone")
	s.BoolVar(&f.remove, "remove", false, "remove the approvals of the skills")
	s.Bool("json", false, "with --list, print a JSON object")
	s.BoolVarP(&f.dryRun, "dry-run", "n", false, "print what would be approved, and approve nothing")
	_ = cmd.RegisterFlagCompletionFunc("until", cobra.NoFileCompletions)
	_ = cmd.RegisterFlagCompletionFunc("reason", cobra.NoFileCompletions)
	_ = cmd.RegisterFlagCompletionFunc("accept", cobra.FixedCompletions(ruleIDs(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func revokeCommand(env *console.Env) *cobra.Command {
	var from selection.Flags
	cmd := &cobra.Command{
		Use:    "revoke SKILL...",
		Hidden: true, // approve --remove does the same
		Short:  "Remove the approvals of skills, as 'knack approve --remove' does",
		Args:   command.ArgCount(1, 1000, "at least one skill"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return revokeSkills(cmd.Context(), env, &from, args)
		},
	}
	Register(cmd, env, &from)
	return cmd
}

// bookOf reads the approvals file, and returns the approvals and the file's path.
func bookOf(env *console.Env, files *settings.Finder) (*approvals.Book, string, error) {
	at, err := files.Approvals()
	if err == nil && at == "" {
		err = command.RunError("set HOME, or name a configuration with --config", "the home folder is not known, so there is no place for approvals")
	}
	if err != nil {
		return nil, "", err
	}
	book, err := approvals.Load(at)
	return book, at, approvalsFailure(env, at, err)
}

// approvalsFailure turns an error about the file of approvals into a command's failure.
func approvalsFailure(env *console.Env, at string, err error) error {
	var bad *jsonfile.Error
	var failed *fs.PathError
	switch file := env.Shown(at); {
	case errors.As(err, &bad):
		return command.RunError(bad.Fix, "%s:%d:%d: %s", file, bad.Line, bad.Column, bad.Message)
	case errors.Is(err, edit.ErrLocked), errors.Is(err, edit.ErrChanged):
		return command.Fail(command.No, fmt.Errorf("another knack command is changing %s", file), "run this one again when it is done")
	case errors.Is(err, fs.ErrPermission):
		return command.RunError("let the user who runs knack read and write the file and its folder", "%s: permission denied", file)
	case errors.As(err, &failed):
		return command.RunError("check the file and its folder, or name another file with the key approvals", "%s: %w", file, command.Cause(err))
	}
	return err
}

func approveSkills(ctx context.Context, env *console.Env, f *approveFlags, words []string) error {
	given := approvals.Approval{By: display.OneLine(env.UserName()), Reason: f.reason, At: time.Now()}
	if err := f.check(&given); err != nil {
		return err
	}
	w, err := f.from.Open()
	if err != nil {
		return err
	}
	defer w.Close()
	book, at, err := bookOf(env, w.Files())
	if err != nil {
		return err
	}
	v, err := w.View(ctx)
	if err != nil {
		return err
	}
	entries, failed := selection.Named(env, v, words)
	var all []approvals.Approval
	var accepted []admission.Accept
	var options scan.Options
	asked := false // a skill is served only with approval
	if file, err := w.Files().Trusted(); err == nil && file != nil {
		options.Lanes = file.Config.Scan.Rules
		asked = len(file.Config.Scan.Approve) > 0
	}
	stored := false
	for _, e := range entries {
		loaded, err := loadSkill(ctx, e)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			failed = append(failed, command.FailureIn(err))
			continue
		}
		r, err := scan.Skill(ctx, loaded.files, loaded.manifest, options)
		if err != nil {
			return workspace.Interrupted(err)
		}
		a := given
		a.URI, a.Set, a.Files, a.Fields, a.Facts = e.URI().String(), skill.SetOf(loaded.manifest), loaded.manifest, loaded.fields, factsByName(r.Facts)
		accepts, err := f.acceptsOf(e, a, r)
		if err != nil {
			return err
		}
		accepted = append(accepted, accepts...)
		printApproval(env, e.Name, a, r, book, accepts)
		if !f.dryRun {
			if err := storeFiles(ctx, env, w.Files(), loaded.contents(e.Skill)); err != nil {
				env.Err().Text(console.Warning, e.Name+": the store does not keep the files, so that scan --against approved --text cannot show what changes: "+err.Error())
			} else {
				stored = true
			}
		}
		all = append(all, a)
	}
	unread := command.Joined(failed, "not approved:")
	switch {
	case len(all) == 0:
		return unread
	case len(f.accept) > 0 && len(accepted) == 0:
		return command.Fail(command.No, fmt.Errorf("no skill has a finding of %s", strings.Join(f.accept, " or ")), env.Command("scan")+" prints the findings; leave --accept out")
	case f.dryRun:
		env.Out().Line("would approve %s in %s", display.Count(len(all), "skill"), env.Shown(at))
		return unread
	}
	var added []string
	if len(accepted) > 0 {
		file, lines, err := w.Files().Accept(accepted)
		if err != nil {
			return err
		}
		for _, line := range lines {
			added = append(added, fmt.Sprintf("%s:%d", file, line))
		}
		env.Out().Line("scan.accept of %s: %d added; a running server reads it when it restarts", file, len(lines))
	}
	var sets [][]skill.File
	err = approvals.Change(at, func(b *approvals.Book) error {
		for _, a := range all {
			b.Add(a)
		}
		for _, a := range b.All() {
			sets = append(sets, a.Files)
		}
		return ctx.Err()
	})
	if err != nil {
		return approvalsFailure(env, at, err)
	}
	if err := pinFiles(env, w.Files(), at, sets); err != nil && stored {
		env.Err().Text(console.Warning, "the store may remove the approved files, which scan --against approved --text needs: "+err.Error())
	}
	env.Out().Line("approved %s in %s", display.Count(len(all), "skill"), env.Shown(at))
	if len(added) > 0 {
		env.Err().Text(console.Hint, "to undo it: "+f.undo(words)+", and delete from scan.accept: "+display.First(added, 5))
	}
	if !asked && len(accepted) == 0 {
		env.Err().Text(console.Hint, "skills are served without approval too, until scan.approve in knack.yaml names them, such as [\"skill://**\"]")
	}
	return unread
}

// undo returns the command line that removes the approvals of the given skills.
func (f *approveFlags) undo(words []string) string {
	return f.from.Env.Command(append([]string{"approve", "--remove"}, words...)...)
}

// acceptsOf returns an entry of scan.accept for each rule of --accept that fires in a skill. An
// entry accepts the rule only for the approved files.
func (f *approveFlags) acceptsOf(e *catalog.Entry, a approvals.Approval, r scan.Report) (all []admission.Accept, err error) {
	for _, rule := range f.accept {
		if !slices.ContainsFunc(r.Findings, func(found scan.Finding) bool { return string(found.Rule) == rule }) {
			continue
		}
		p, err := access.ParsePattern(admission.PatternFor(e))
		if err != nil {
			return nil, err
		}
		all = append(all, admission.Accept{Rule: skill.RuleID(rule), Skill: p, Set: a.Set, Until: a.Until, Reason: a.Reason})
	}
	return all, nil
}

// ruleIDs returns the ids of the rules of a scan.
func ruleIDs() (ids []string) {
	for _, r := range scan.Rules {
		ids = append(ids, string(r.ID))
	}
	return ids
}

// check validates the flags, and sets the day of --until in an approval.
func (f *approveFlags) check(a *approvals.Approval) error {
	if len(f.reason) > approvals.MaxReason || !utf8.ValidString(f.reason) || strings.ContainsFunc(f.reason, unicode.IsControl) {
		return command.UsageError("write one line of at most 1,000 bytes", "--reason is too long, or has line ends or control characters")
	}
	for _, rule := range f.accept {
		if !scan.IsRule(skill.RuleID(rule)) {
			return command.UsageError(typo.Hint(rule, ruleIDs(), "knack scan prints the rule of each finding"), "--accept %s: there is no such rule", display.Echo(rule))
		}
	}
	if len(f.accept) > 0 && f.reason == "" {
		return command.UsageError("say why the finding is no danger, with --reason", "--accept needs a reason")
	}
	if f.until == "" {
		return nil
	}
	day, err := time.Parse(time.DateOnly, f.until)
	switch {
	case err != nil:
		return command.UsageError("write the last day, such as 2027-01-31", "--until %s is not a day", display.Echo(f.until))
	case !a.At.Before(day.AddDate(0, 0, 1)):
		return command.UsageError("write a later day, or leave it out", "--until %s has passed", f.until)
	}
	a.Until = day
	return nil
}

// printApproval describes an approval before it is recorded.
func printApproval(env *console.Env, name string, a approvals.Approval, r scan.Report, book *approvals.Book, accepts []admission.Accept) {
	p := env.Out()
	size := int64(0)
	for _, file := range a.Files {
		size += file.Size
	}
	p.Line("%s  %s", console.Bold.Of(name), a.URI)
	p.Line("  set %s", a.Set)
	p.Item(2, "  %s, %s bytes; %s to enforce, %s to review", display.Count(len(a.Files), "file"), display.Thousands(int(size)), display.Count(r.Enforce, "finding"), display.Thousands(r.Review))
	report.PrintFacts(p, r.Facts)
	for _, accept := range accepts {
		p.Item(2, "  accepted: %s, in these files of %s", accept.Rule, accept.Skill)
	}
	if s := book.Compare(a.URI, a.Files, a.At); s.Is != approvals.Never {
		p.Item(2, "  before: %s", s)
	}
	for _, accept := range accepts {
		if !admission.HoldsBack(&r, accept.Rule) {
			env.Err().Text(console.Warning, fmt.Sprintf("%s: accepting %s changes nothing now, since its findings are for review and hold no skill back", name, accept.Rule))
		}
	}
	var places []string
	for _, found := range r.Findings {
		if found.Lane == scan.Enforce && !slices.ContainsFunc(accepts, func(a admission.Accept) bool { return a.Rule == found.Rule }) {
			place := cmp.Or(found.File, "the skill")
			if found.Position.Line > 0 {
				place += fmt.Sprintf(":%d", found.Position.Line)
			}
			places = append(places, string(found.Rule)+" in "+place)
		}
	}
	if len(places) > 0 {
		env.Err().Text(console.Warning, name+" has a finding to enforce, and is approved with it: "+display.First(places, 5))
	}
}

func revokeSkills(ctx context.Context, env *console.Env, from *selection.Flags, words []string) error {
	w, err := from.Open()
	if err != nil {
		return err
	}
	defer w.Close()
	book, at, err := bookOf(env, w.Files())
	if err != nil {
		return err
	}
	v, err := w.View(ctx)
	if err != nil {
		return err
	}
	var uris []string
	var failed []*command.Failure
	for _, word := range words {
		some, err := approvedURIs(env, v, book, word)
		if err != nil {
			failed = append(failed, command.FailureIn(err))
		}
		uris = append(uris, some...)
	}
	unread := command.Joined(failed, "not revoked:")
	if len(uris) == 0 {
		return unread
	}
	err = approvals.Change(at, func(b *approvals.Book) error {
		for _, uri := range uris {
			b.Revoke(uri)
		}
		return ctx.Err()
	})
	if err != nil {
		return approvalsFailure(env, at, err)
	}
	for _, uri := range uris {
		env.Out().Line("revoked %s", uri)
	}
	warnAccepted(env, w.Files(), book, uris)
	return unread
}

// warnAccepted warns about findings of revoked approvals that scan.accept still accepts. book
// contains the approvals before the revocation.
func warnAccepted(env *console.Env, files *settings.Finder, book *approvals.Book, uris []string) {
	file, err := files.Trusted()
	if err != nil || file == nil {
		return
	}
	for _, uri := range uris {
		was, _ := book.Of(uri)
		for _, a := range file.Config.Scan.Accept {
			if a.Set == was.Set {
				env.Err().Text(console.Warning, fmt.Sprintf("%s is still accepted in these files: delete the entry of scan.accept at %s:%d", a.Rule, file.Shown, a.Line))
			}
		}
	}
}

// approvedURIs returns the URIs of the approvals that a word names. A pattern also matches
// approvals whose skills no longer exist.
func approvedURIs(env *console.Env, v catalog.View, book *approvals.Book, word string) (uris []string, err error) {
	if uri := approvedURI(book, word); uri != "" {
		return []string{uri}, nil
	}
	if selection.IsPattern(word) {
		p, err := selection.Pattern(word)
		if err != nil {
			return nil, err
		}
		for _, a := range book.All() {
			if uri, err := skill.ParseURI(a.URI); err == nil && p.FitsURI(uri) {
				uris = append(uris, a.URI)
			}
		}
	} else {
		entries, unread := selection.Named(env, v, []string{word})
		if len(unread) > 0 {
			return nil, unread[0]
		}
		for _, e := range entries {
			if _, ok := book.Of(e.URI().String()); ok {
				uris = append(uris, e.URI().String())
			}
		}
	}
	if len(uris) == 0 {
		return nil, command.Fail(command.No, fmt.Errorf("%s is not approved", display.Quote(word)), env.Command("approve", "--list")+" shows the approved skills")
	}
	return uris, nil
}

// completeApproved completes the approved skills. It offers their names, or the URI of an approval
// without a skill.
func completeApproved(ctx context.Context, env *console.Env, from *selection.Flags, typed string) []string {
	return from.Complete(ctx, func(_ context.Context, w *workspace.Workspace, v catalog.View) []string {
		book, _, err := bookOf(env, w.Files())
		if err != nil {
			return nil
		}
		names := map[string]*catalog.Entry{}
		for _, e := range v.Entries {
			names[e.URI().String()] = e
		}
		return selection.Offered(func(yield func(string, string) bool) {
			for _, a := range book.All() {
				word, description := a.URI, a.Reason
				if e := names[a.URI]; e != nil {
					word, description = v.Called(e), e.Description
				}
				if !yield(word, description) {
					return
				}
			}
		}, typed)
	})
}

// approvedURI returns the URI of the approval that a word names, or "". The word may leave out the
// SKILL.md at the end.
func approvedURI(book *approvals.Book, word string) string {
	for _, uri := range []string{word, strings.TrimSuffix(word, "/") + "/SKILL.md"} {
		if _, ok := book.Of(uri); ok {
			return uri
		}
	}
	return ""
}
