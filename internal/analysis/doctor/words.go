package doctor

import (
	"fmt"
	"path"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
	"github.com/knack-dev/knack/source/dir"
)

// Heading returns the label of a root, with its folder if it has one.
func Heading(r skill.Root) string {
	if r.Dir == "" || r.Shown == "" { // over HTTP, no answer contains a folder
		return r.Label
	}
	return r.Label + " (" + r.Shown + ")"
}

// UnreadReason returns the reason why a root is not read, and the fix, for a line that begins with
// the root.
func UnreadReason(r catalog.RootStatus) string {
	reason, fix := r.Reason()
	if r.State() == catalog.RootUnreadable {
		reason = "cannot be read: " + reason
	}
	return reason + " (" + fix + ")"
}

// Below returns the path of a file or folder below a root, for people.
func Below(r skill.Root, path string) string {
	at := r.Name()
	if path == "." {
		return at
	}
	return strings.TrimSuffix(at, "/") + "/" + path
}

// placeOf returns the file of a skill's finding, for people, with the position in the file.
func placeOf(e *catalog.Entry, f check.Finding) check.Place {
	file := e.Place()
	if f.File != "" {
		file = scan.MaskSecrets(fileOf(e, f.File))
	}
	return check.Place{File: file, Position: f.Position}
}

// NoticeLine returns a notice about a displayed path in one line.
func NoticeLine(at string, n skill.Notice) string {
	line := at + ": " + n.Message
	if n.Fix != "" {
		line += " (" + n.Fix + ")"
	}
	return line
}

// FindingLine returns a finding in one line, without its file.
func FindingLine(f check.Finding) string {
	s := f.Message
	if at := f.Position.String(); at != "" {
		s = at + ": " + s
	}
	if ask, _, _ := strings.Cut(f.Fix, "\n"); ask != "" {
		s += " (" + ask + ")"
	}
	return s
}

// mostPrompts is the number of skills that the server offers as prompts (product limit).
const mostPrompts = 100

// limits returns a line for each root or skill that reaches a limit of knack or of the
// specification.
func (r *Report) limits() []string {
	var out []string
	for _, root := range r.View.Roots {
		for _, n := range root.Notices {
			if dir.AtLimit(n.Rule) {
				out = append(out, NoticeLine(Below(root.Root, n.Path), n))
			}
		}
	}
	prompts := 0
	for _, e := range r.View.Entries {
		if e.Status == catalog.Available && e.UserInvocable {
			prompts++
		}
		for _, f := range r.Verdicts[e].Findings {
			switch f.Rule {
			case frontmatter.FilesMany, frontmatter.FilesLarge:
				out = append(out, path.Dir(e.Place())+": "+FindingLine(f))
			case frontmatter.FileTooLarge, frontmatter.FenceTooLong, frontmatter.NameLength, frontmatter.DescriptionLength:
				out = append(out, e.Place()+": "+FindingLine(f))
			}
		}
	}
	if prompts > mostPrompts {
		out = append(out, fmt.Sprintf("%d skills could be prompts; clients are offered the first %d", prompts, mostPrompts))
	}
	return out
}

// Excluded returns the reason why a skill is unlisted.
func Excluded(e *catalog.Entry) string {
	if e.Root.Unlisted || e.By == nil {
		return "its root is excluded"
	}
	return "it is a copy of " + e.By.Place() + ", whose root is excluded"
}

// LeftOver describes the files that an interrupted knack left behind.
func LeftOver(names []string) string {
	return FirstOf(names) + ": knack was interrupted while it wrote here (delete what it left)"
}

// FirstOf returns the first few names of a list, for people.
func FirstOf(names []string) string {
	const few = 5
	if len(names) == few+1 {
		return strings.Join(names, ", ")
	}
	return display.First(names, few)
}
