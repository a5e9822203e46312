package report

import (
	"strings"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Status is the change of a skill since an earlier state.
type Status string

// The statuses.
const (
	Same    Status = "same"
	Changed Status = "changed"
	New     Status = "new"
	Gone    Status = "gone"
)

// Compared is a skill with its changes since an earlier state.
type Compared struct {
	*Scanned        // its current state; nil for a removed skill with only a URI
	URI      string // "" in a comparison with a folder
	Status   Status
	Was      string // describes the earlier state
	Files    Names
	Fields   Names // fields of the frontmatter
	NewFacts scan.Facts
	OldFacts scan.Facts     // the removed facts
	Found    []scan.Finding // the new findings
	Ended    []scan.Finding // the removed findings
	// Enforce and Review are the numbers of new findings. They include findings beyond the limit of
	// the list.
	Enforce, Review int
	Notes           []string // parts that could not be compared
	Patches         []Patch  // the diffs of the texts, if requested
}

// Patch is a diff of a file in the unified format. Secrets are masked.
type Patch struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// Names are the added, removed and changed names of files or fields. Each list is sorted.
type Names struct {
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Changed []string `json:"changed,omitempty"`
}

// Comparison is the result of one run of scan --against.
type Comparison struct {
	Against string // "approved", or a path as the user typed it
	Skills  []*Compared
}

// Count returns the number of skills with a status.
func (c *Comparison) Count(s Status) (n int) {
	for _, k := range c.Skills {
		if k.Status == s {
			n++
		}
	}
	return n
}

// Findings returns the number of new findings in each lane.
func (c *Comparison) Findings() (enforce, review int) {
	for _, k := range c.Skills {
		enforce, review = enforce+k.Enforce, review+k.Review
	}
	return enforce, review
}

func (c *Comparison) diagnostics(bool) (all []Diagnostic) {
	for _, k := range c.Skills {
		for _, f := range k.Found {
			all = append(all, k.diagnostic(f).masked())
		}
	}
	return all
}

func (c *Comparison) rules() []sarifRule { return (*ScanRun)(nil).rules() }

// PrintAs implements [command.Formatted].
func (c *Comparison) PrintAs(env *console.Env, format string) (ok bool, err error) {
	return printAs(env, c, format)
}

// Print implements [command.Result].
func (c *Comparison) Print(env *console.Env) {
	p := env.Out()
	for _, k := range c.Skills {
		if k.Status != Same || k.Was != "" {
			k.print(p)
		}
	}
	var words []string
	for _, s := range []struct {
		status Status
		word   string
	}{{Changed, "changed"}, {New, "new"}, {Gone, "gone"}, {Same, "the same"}} {
		if n := c.Count(s.status); n > 0 {
			words = append(words, display.Thousands(n)+" "+s.word)
		}
	}
	if len(words) == 0 {
		words = []string{"none"}
	}
	enforce, review := c.Findings()
	p.Line("skills: %s; new findings: %s to enforce, %s to review", strings.Join(words, ", "), display.Thousands(enforce), display.Thousands(review))
}

// heading returns the name of the skill in the output for people.
func (k *Compared) heading() string {
	if k.Scanned == nil {
		return k.URI
	}
	return k.Folder
}

// maxNames bounds the number of names in a line.
const maxNames = 20

func (k *Compared) print(p *console.Printer) {
	word := string(k.Status)
	if k.Was != "" {
		word = k.Was
	}
	p.Line("%s: %s", console.Bold.Of(k.heading()), word)
	for _, n := range []struct {
		what  string
		names []string
	}{
		{"added", k.Files.Added}, {"removed", k.Files.Removed}, {"changed", k.Files.Changed},
		{"frontmatter added", k.Fields.Added}, {"frontmatter removed", k.Fields.Removed}, {"frontmatter changed", k.Fields.Changed},
	} {
		if len(n.names) > 0 {
			p.Item(2, "  %s: %s", n.what, display.First(n.names, maxNames))
		}
	}
	for _, l := range factLines(k.NewFacts) {
		p.Item(4, "  + %s", l)
	}
	for _, l := range factLines(k.OldFacts) {
		p.Item(4, "  - %s", l)
	}
	for _, n := range k.Notes {
		p.Item(2, "  %s", n)
	}
	var at string // the position in source
	var source *check.Source
	for _, f := range k.Found {
		d := k.diagnostic(f)
		if at != d.File {
			at, source = d.File, k.maskedSource(f.File)
		}
		d.Print(p, source)
	}
	for _, f := range k.Ended {
		p.Item(4, "  - %s: %s [%s]", f.File, f.Message, f.Rule)
	}
	for _, patch := range k.Patches {
		_ = p.Patch(patch.Text) // a failed write ends the command anyway
	}
}

// maskedSource returns the text of a file with masked secrets, or nil if the file cannot be shown.
func (k *Compared) maskedSource(file string) *check.Source {
	if strings.Contains(file, "!") {
		return nil
	}
	data, _, err := k.Skill.ReadServed(file, skill.MaxFile)
	if err != nil {
		return nil
	}
	return check.NewSource([]byte(scan.MaskSecrets(string(data))))
}

// PrintFacts prints the facts of a skill, indented.
func PrintFacts(p *console.Printer, f scan.Facts) {
	for _, l := range factLines(f) {
		p.Item(2, "  %s", l)
	}
}

// comparisonDocument is the JSON form of a comparison, described in doc/scan.md.
type comparisonDocument struct {
	Version int               `json:"version"`
	Against string            `json:"against"`
	Summary comparisonSummary `json:"summary"`
	Skills  []comparisonRow   `json:"skills"`
}

type comparisonSummary struct {
	Changed int `json:"changed"`
	New     int `json:"new"`
	Gone    int `json:"gone"`
	Same    int `json:"same"`
	Enforce int `json:"enforce"`
	Review  int `json:"review"`
}

type comparisonRow struct {
	URI         string               `json:"uri,omitempty"`
	Folder      string               `json:"folder,omitempty"`
	Name        string               `json:"name,omitempty"`
	Status      Status               `json:"status"`
	Was         string               `json:"was,omitempty"`
	Set         string               `json:"set,omitempty"`
	Files       Names                `json:"files"`
	Frontmatter Names                `json:"frontmatter"`
	Facts       comparedFacts        `json:"facts"`
	Enforce     int                  `json:"enforce"`
	Review      int                  `json:"review"`
	Findings    []doctor.ScanFinding `json:"findings"`
	Gone        []endedFinding       `json:"gone,omitempty"`
	Notes       []string             `json:"notes,omitempty"`
	Texts       []Patch              `json:"texts,omitempty"`
}

type comparedFacts struct {
	Added   scan.Facts `json:"added"`
	Removed scan.Facts `json:"removed"`
}

type endedFinding struct {
	Rule    skill.RuleID `json:"rule"`
	Lane    scan.Lane    `json:"lane"`
	File    string       `json:"file"`
	Message string       `json:"message"`
}

// JSON returns the JSON form.
func (c *Comparison) JSON() any {
	enforce, review := c.Findings()
	out := comparisonDocument{Version: 1, Against: c.Against, Skills: []comparisonRow{},
		Summary: comparisonSummary{c.Count(Changed), c.Count(New), c.Count(Gone), c.Count(Same), enforce, review}}
	for _, k := range c.Skills {
		row := comparisonRow{URI: k.URI, Status: k.Status, Was: k.Was, Files: k.Files, Frontmatter: k.Fields, Facts: comparedFacts{k.NewFacts, k.OldFacts},
			Enforce: k.Enforce, Review: k.Review, Findings: doctor.ScanFindings(k.Found), Notes: k.Notes, Texts: k.Patches}
		if k.Scanned != nil {
			row.Folder, row.Name, row.Set = k.Folder, k.Name, k.Set
		}
		for _, f := range k.Ended {
			row.Gone = append(row.Gone, endedFinding{f.Rule, f.Lane, f.File, f.Message})
		}
		out.Skills = append(out.Skills, row)
	}
	return out
}
