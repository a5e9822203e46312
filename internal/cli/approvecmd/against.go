package approvecmd

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/diff"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/skill"
)

// againstApproved is the value of --against for a comparison with the approvals. A folder with this
// name must be given as ./approved.
const againstApproved = "approved"

// Scanner opens and scans the skills for a comparison.
type Scanner interface {
	// Open returns the workspace that the flags choose. Each call returns the same workspace.
	Open() (*workspace.Workspace, error)
	// Entries returns the skills that words name, or all skills if there are no words. unread is
	// the error for words that name neither a path nor a skill.
	Entries(ctx context.Context, words []string) (all []*catalog.Entry, unread error, err error)
	// InFolder returns the skills in a folder.
	InFolder(ctx context.Context, folder string) ([]*catalog.Entry, error)
	Scan(ctx context.Context, entries []*catalog.Entry) ([]*report.Scanned, error)
}

// Comparison has the flags of a comparison.
type Comparison struct {
	Against string // approved, or a folder
	Text    bool   // print the differences of the texts too
	// Format, Only and Strict have the same meaning as in scan.
	Format string
	Only   scan.Lane
	Strict bool
}

// Register adds the flags of a comparison.
func (f *Comparison) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Against, "against", "", "say what is new since `STATE`: approved, or a folder with the skills as they were")
	cmd.Flags().BoolVar(&f.Text, "text", false, "with --against, also print the difference of the texts, without their secrets")
	_ = cmd.RegisterFlagCompletionFunc("against", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{againstApproved}, cobra.ShellCompDirectiveDefault
	})
}

// Run compares skills with their approved state, or with the skills in a folder, and returns the
// changes.
func (f *Comparison) Run(ctx context.Context, env *console.Env, scanner Scanner, words []string) (command.Result, error) {
	if f.Against == "" {
		return nil, command.UsageError("give approved or a folder with --against", "--text and --against need an earlier state")
	}
	entries, before, unread, err := f.earlier(ctx, env, scanner, words)
	if err != nil {
		return nil, err
	}
	scanned, err := scanner.Scan(ctx, entries)
	if err != nil {
		return nil, workspace.Interrupted(err)
	}
	bySkill := map[*skill.Skill]*catalog.Entry{}
	for _, e := range entries {
		bySkill[e.Skill] = e
	}
	c := &report.Comparison{Against: f.Against}
	for _, s := range scanned {
		e := bySkill[s.Skill]
		files, err := e.Manifest(ctx, nil)
		k := &report.Compared{Scanned: s, Status: report.Changed}
		if err != nil {
			k.Notes = []string{"its files cannot be compared: " + skill.Reason(err)}
			everythingIsNew(k)
		} else if was, err := before.find(ctx, e, files, k); err != nil {
			return nil, err
		} else {
			f.compare(k, was, e, files)
		}
		if ctx.Err() != nil {
			return nil, workspace.Interrupted(ctx.Err())
		}
		c.Skills = append(c.Skills, k)
	}
	c.Skills = append(c.Skills, before.removed()...)
	differ := c.Count(report.Changed) + c.Count(report.New)
	switch enforce, review := c.Findings(); {
	case unread != nil:
		return c, unread
	case enforce == 0 && !(f.Strict && differ > 0):
		return c, nil
	case f.Format == "text":
		return c, command.Fail(command.No, command.ErrPrinted, "")
	default:
		return c, command.Fail(command.No, fmt.Errorf("%s in %s", display.Count(enforce+review, "new finding"), display.Count(differ, "skill")), "")
	}
}

// compare completes the comparison of a scanned skill that has the given files. Without an earlier
// state everything is new, unless the status is already Same.
func (f *Comparison) compare(k *report.Compared, was *earlier, e *catalog.Entry, files []skill.File) {
	switch {
	case k.Status == report.Same:
	case was == nil:
		everythingIsNew(k)
	case skill.SetOf(files) == skill.SetOf(was.files):
		k.Status = report.Same
	default:
		old, now := digestsOf(was.files), digestsOf(files)
		k.Files = namesOf(old, now)
		k.Fields = namesOf(was.fields, fieldDigests(e.Frontmatter))
		k.NewFacts, k.OldFacts = factsWithout(k.Facts, was.facts), factsWithout(was.facts, k.Facts)
		compareFindings(k, was, func(file string) bool {
			file, _, _ = strings.Cut(file, "!") // an entry of an archive
			d, ok := now[file]
			return ok && d == old[file]
		})
		if f.Text && was.read != nil {
			addPatches(k, was, e)
		}
	}
}

// everythingIsNew marks all facts and findings of a skill as new.
func everythingIsNew(k *report.Compared) {
	k.NewFacts, k.Found = k.Facts, k.Findings
	k.Enforce, k.Review = k.Report.Enforce, k.Report.Review
}

// findingKey identifies a finding even if its line number changes.
type findingKey struct {
	rule skill.RuleID
	file string
	text skill.Digest
}

func keyOf(f scan.Finding) findingKey { return findingKey{f.Rule, f.File, f.Text} }

// compareFindings sets the new and the ended findings. If the earlier findings are unknown, a
// finding in an unchanged file does not count as new.
func compareFindings(k *report.Compared, was *earlier, same func(file string) bool) {
	known := map[findingKey]int{}
	if was.report != nil {
		for _, f := range was.report.Findings {
			known[keyOf(f)]++
		}
	}
	// A finding beyond the limit of the list cannot be compared, so it counts as new.
	k.Enforce, k.Review = k.Report.Enforce, k.Report.Review
	for _, f := range k.Findings {
		isKnown := known[keyOf(f)] > 0
		known[keyOf(f)]--
		if was.report == nil {
			isKnown = same(f.File)
		}
		switch {
		case !isKnown:
			k.Found = append(k.Found, f)
		case f.Lane == scan.Enforce:
			k.Enforce--
		default:
			k.Review--
		}
	}
	if more := k.Report.Enforce + k.Report.Review - len(k.Findings); more > 0 {
		k.Notes = append(k.Notes, display.Count(more, "finding")+" more cannot be compared, and count as new")
	}
	if was.report == nil || was.report.Enforce+was.report.Review > len(was.report.Findings) {
		return
	}
	for _, f := range was.report.Findings {
		if known[keyOf(f)] > 0 {
			known[keyOf(f)]--
			k.Ended = append(k.Ended, f)
		}
	}
}

func digestsOf(files []skill.File) map[string]skill.Digest {
	all := map[string]skill.Digest{}
	for _, f := range files {
		all[f.Path] = f.Digest
	}
	return all
}

// namesOf returns the names that were added, changed or removed between two sets of digests.
func namesOf(old, now map[string]skill.Digest) (n report.Names) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was, ok := old[name]; !ok {
			n.Added = append(n.Added, name)
		} else if was != now[name] {
			n.Changed = append(n.Changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, ok := now[name]; !ok {
			n.Removed = append(n.Removed, name)
		}
	}
	return n
}

// factsWithout returns the facts that are not in others.
func factsWithout(facts, others scan.Facts) scan.Facts {
	all, known := factsByName(facts), factsByName(others)
	for name, values := range all {
		all[name] = slices.DeleteFunc(values, func(v string) bool { return slices.Contains(known[name], v) })
	}
	return factsNamed(all)
}

// maxPatched is the maximum size, in bytes, of a file for which a diff is shown.
const maxPatched = 1 << 20

// addPatches adds a diff of each changed text file, with secrets masked.
func addPatches(k *report.Compared, was *earlier, e *catalog.Entry) {
	isIn := func(names []string, file string) bool { return slices.Contains(names, file) }
	for _, file := range slices.Sorted(slices.Values(slices.Concat(k.Files.Added, k.Files.Removed, k.Files.Changed))) {
		var old, now []byte
		var err error
		if !isIn(k.Files.Added, file) {
			old, err = was.read(file)
		}
		if err == nil && !isIn(k.Files.Removed, file) {
			now, _, err = e.ReadServed(file, skill.MaxFile)
		}
		from, to := "a/"+file, "b/"+file
		switch {
		case err != nil:
			k.Notes = append(k.Notes, file+": "+skill.Reason(err))
		case !isPatched(old) || !isPatched(now):
			k.Notes = append(k.Notes, file+": it is not text, or too large, so its difference is not shown")
		default:
			text := diff.Unified(from, to, []byte(scan.MaskSecrets(string(old))), []byte(scan.MaskSecrets(string(now))))
			if text == "" && len(old)+len(now) > 0 {
				k.Notes = append(k.Notes, file+": only a secret differs, which is not shown")
				continue
			}
			k.Patches = append(k.Patches, report.Patch{File: file, Text: text})
		}
	}
}

func isPatched(data []byte) bool {
	return len(data) <= maxPatched && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}
