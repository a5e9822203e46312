// Package scan reports the effects of a skill, line by line: acts that no honest skill commits,
// lines worth a look, and the programs, hosts and paths that the skill names. The same bytes give
// the same report. A scan runs nothing and contacts no service.
package scan

import (
	"cmp"
	"context"
	"io/fs"
	"slices"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/bound"
	"github.com/knack-dev/knack/skill"
)

// Lane tells how a finding is used: to enforce a policy, or for review.
type Lane string

// The lanes.
const (
	Enforce Lane = "enforce" // no honest skill does this: a server may hold the skill back
	Review  Lane = "review"  // a fact that is worth a look
)

// Finding is one position at which a rule fires.
type Finding struct {
	Rule skill.RuleID
	Lane Lane
	// File is the file's path in the skill. An entry of an archive is "a.zip!b/c.sh".
	File string
	// Position is the start of the bytes at which the rule fires. It is zero if the finding
	// concerns the whole file. Length is in characters, and does not exceed the line.
	Position skill.Position
	Length   int
	Message  string   // the fact
	Notes    []string // further facts: a decoded text, the rules that its commands fire
	Fix      string   // advice to the author
	// Text is the digest of the lines at which the rule fires. With Rule, File and Message it
	// identifies the finding even if its line moves.
	Text skill.Digest
}

// maxFindings limits the findings that a report lists. Further findings are only counted.
const maxFindings = 100

// Report is the result of scanning one skill.
type Report struct {
	Findings []Finding // by file, position and rule: at most 100
	// Enforce and Review count all findings, including the unlisted ones.
	Enforce, Review int
	Facts           Facts
	// Unread is set if the main file or a script could not be judged.
	Unread bool
	// TooLarge is set if a file is too large to judge, so that it may contain anything.
	TooLarge bool
	// Failed is set if a file could not be read. The report then does not describe all bytes of the
	// skill, and another scan may find more.
	Failed bool
}

// Facts lists the programs, hosts, files and other names that a scan finds in a skill. Each list is
// sorted and has no duplicates.
type Facts struct {
	Programs  []string `json:"programs,omitempty"`  // programs that its commands start
	Hosts     []string `json:"hosts,omitempty"`     // hosts in commands and scripts
	Packages  []string `json:"packages,omitempty"`  // packages that it installs: "npm:left-pad"
	Variables []string `json:"variables,omitempty"` // variables of the environment that it reads
	Reads     []string `json:"reads,omitempty"`     // paths outside of the skill
	Writes    []string `json:"writes,omitempty"`    // paths outside of the skill
	Binaries  []string `json:"binaries,omitempty"`  // files with programs in them
	Tools     []string `json:"tools,omitempty"`     // tools in allowed-tools
	Hidden    []string `json:"hidden,omitempty"`    // files with text that rendering hides
	Unasked   []string `json:"unasked,omitempty"`   // files that run without being asked for
	NotRead   []string `json:"notRead,omitempty"`   // files that could not be judged
}

// Options change the contents of a report.
type Options struct {
	// Lanes overrides the lanes of [Rules]. The lane "" turns a rule off.
	Lanes map[skill.RuleID]Lane
	// Only, if not empty, restricts the report to the findings of this lane.
	Only Lane
}

// Loaded scans all files of a skill. See [Skill].
func Loaded(ctx context.Context, k *skill.Skill, o Options) (Report, error) {
	files, more, err := k.List(ctx, bound.Files)
	return Listed(ctx, Served(k), files, more, err, o)
}

// Listed scans the files of a skill as [Loaded] does. files, more and err are the result of listing
// them.
func Listed(ctx context.Context, fsys fs.FS, files []skill.File, more bool, err error, o Options) (Report, error) {
	s := newScanner(o)
	switch {
	case ctx.Err() != nil:
		return Report{}, ctx.Err()
	case more:
		s.TooLarge("", "it has more than 10,000 files, and the rest is not judged")
	case err != nil:
		reason, fix := skill.FolderReason(err)
		s.unreadable("", "its files cannot be listed: "+reason, fix)
	}
	s.unread, s.failed = err != nil, err != nil
	return s.all(ctx, fsys, files)
}

// Served returns the file system of a skill with the names under which its files are served.
func Served(k *skill.Skill) fs.FS { return served{k} }

type served struct{ k *skill.Skill }

func (s served) Open(name string) (fs.File, error) { return s.k.FS.Open(s.k.OnDisk(name)) }

// Skill scans the given files of a skill. The files are those that the skill's resources would
// list. Skill judges the main file first, then the others by size, the smallest first, and archives
// last. So no large file can use up the limits of the scan before a script is judged. A file that
// cannot be read or judged becomes a finding of the rule not-read. The only error is the context's.
func Skill(ctx context.Context, fsys fs.FS, files []skill.File, o Options) (Report, error) {
	return newScanner(o).all(ctx, fsys, files)
}

func (s *scanner) all(ctx context.Context, fsys fs.FS, files []skill.File) (Report, error) {
	s.files = make(map[string]bool, len(files))
	for _, f := range files {
		s.files[f.Path] = true
	}
	main := func(f skill.File) int {
		if skill.IsEntryName(f.Path) {
			return 0
		}
		return 1
	}
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b skill.File) int {
		return cmp.Or(main(a)-main(b), cmp.Compare(a.Size, b.Size), cmp.Compare(a.Path, b.Path))
	})
	for _, last := range []bool{false, true} {
		for _, f := range files {
			if err := ctx.Err(); err != nil {
				return Report{}, err
			}
			if err := s.open(ctx, fsys, f, last); err != nil {
				return Report{}, err
			}
		}
		files = s.archives
	}
	return s.report(), nil
}
