// Package approvals stores the approvals of an operator. An approval names the URI of a skill and
// the approved set of files. A skill with a different set of files is not approved. The file of
// approvals belongs to the operator and is not signed.
package approvals

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Name is the name of the file if no other is configured.
const Name = "approvals.json"

// Approval permits serving a skill with exactly the approved files.
type Approval struct {
	URI    string       // of the skill's SKILL.md
	Set    skill.Digest // see [skill.SetOf]
	Files  []skill.File // by path, without stamps
	Fields map[string]skill.Digest
	Facts  map[string][]string // the keys are the names of the facts in a scan's JSON
	By     string
	At     time.Time // to the second, in UTC
	// Until is the last day, at 0:00 in UTC. It is zero if the approval does not expire.
	Until  time.Time
	Reason string
}

// expired reports whether the last day is over.
func (a Approval) expired(now time.Time) bool {
	return !a.Until.IsZero() && !now.Before(a.Until.AddDate(0, 0, 1))
}

// Book contains the approvals, at most one for each URI. The zero Book is empty. Several goroutines
// may read a Book while none changes it.
type Book struct {
	approvals map[string]Approval
	err       error // why the file could not be read
}

// Err returns the error of reading the file, or nil. An unreadable Book approves nothing.
func (b *Book) Err() error {
	if b == nil {
		return nil
	}
	return b.err
}

// All returns the approvals, sorted by URI.
func (b *Book) All() []Approval {
	if b == nil {
		return nil
	}
	all := make([]Approval, 0, len(b.approvals))
	for _, uri := range slices.Sorted(maps.Keys(b.approvals)) {
		all = append(all, b.approvals[uri])
	}
	return all
}

// Of returns the approval of a skill.
func (b *Book) Of(uri string) (Approval, bool) {
	if b == nil {
		return Approval{}, false
	}
	a, ok := b.approvals[uri]
	return a, ok
}

// Add adds an approval. It replaces an earlier approval of the same URI, and computes the digest of
// the set of files.
func (b *Book) Add(a Approval) {
	if b.approvals == nil {
		b.approvals = map[string]Approval{}
	}
	a.Files = slices.Clone(a.Files)
	for i, f := range a.Files {
		a.Files[i] = skill.File{Path: f.Path, Size: f.Size, Digest: f.Digest}
	}
	sortFiles(a.Files)
	a.Set = skill.SetOf(a.Files)
	a.At = a.At.UTC().Truncate(time.Second)
	b.approvals[a.URI] = a
}

// Revoke removes the approval of a skill, and reports whether there was one.
func (b *Book) Revoke(uri string) bool {
	_, there := b.Of(uri)
	if there {
		delete(b.approvals, uri)
	}
	return there
}

// Standing is the result of comparing the files of a skill with its approval.
type Standing string

// The standings. Only Approved lets a skill be served.
const (
	Approved   Standing = "approved"
	Never      Standing = "never"      // there is no approval
	Changed    Standing = "changed"    // other files were approved
	Expired    Standing = "expired"    // the last day of the approval is over
	Unreadable Standing = "unreadable" // the approvals cannot be read
)

// State is a [Standing] with its details.
type State struct {
	Is       Standing
	Approval Approval     // zero if the skill has no approval
	Set      skill.Digest // of the present files
	Err      error        // why the approvals are Unreadable
}

// Compare compares the files of a skill's manifest with its approval.
func (b *Book) Compare(uri string, files []skill.File, now time.Time) State {
	s := State{Set: skill.SetOf(files), Err: b.Err()}
	a, ok := b.Of(uri)
	switch {
	case s.Err != nil:
		s.Is = Unreadable
		return s
	case !ok:
		s.Is = Never
		return s
	case a.Set != s.Set:
		s.Is = Changed
	case a.expired(now):
		s.Is = Expired
	default:
		s.Is = Approved
	}
	s.Approval = a
	return s
}

// String describes the state. The text contains no path of the machine.
func (s State) String() string {
	a := s.Approval
	switch s.Is {
	case Approved:
		return "approved " + short(a.Set) + " by " + display.OneLine(a.By) + " on " + day(a.At)
	case Changed:
		return fmt.Sprintf("was approved as %s on %s, and is now %s", short(a.Set), day(a.At), short(s.Set))
	case Expired:
		return fmt.Sprintf("was approved as %s until %s, which has passed", short(a.Set), day(a.Until))
	case Unreadable:
		return "the approvals cannot be read: " + s.Err.Error()
	}
	return "was never approved; its files are " + short(s.Set)
}

// short returns the beginning of a digest, for people.
func short(d skill.Digest) string { return display.CutBytes(d.String(), len("sha256:")+12) + "…" }

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
