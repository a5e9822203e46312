package approvecmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/skill"
)

func finding(rule skill.RuleID, lane scan.Lane, file, text string, line int) scan.Finding {
	return scan.Finding{Rule: rule, Lane: lane, File: file, Text: skill.DigestOf([]byte(text)), Position: skill.Position{Line: line}}
}

// TestCompareFindings checks that a finding counts as new if it did not exist before or cannot be
// compared.
func TestCompareFindings(t *testing.T) {
	run := func(file, text string, line int) scan.Finding {
		return finding("run-decoded", scan.Enforce, file, text, line)
	}
	fetch := finding("run-fetched", scan.Review, "a.sh", "curl", 1)
	reportOf := func(enforce, review int, all ...scan.Finding) *scan.Report {
		return &scan.Report{Findings: all, Enforce: enforce, Review: review}
	}
	for name, row := range map[string]struct {
		now, was                     *scan.Report
		enforce, review, found, gone int
		note                         string
	}{
		"the same":                      {reportOf(1, 1, run("a.sh", "x", 1), fetch), reportOf(1, 1, run("a.sh", "x", 1), fetch), 0, 0, 0, 0, ""},
		"on another line":               {reportOf(1, 0, run("a.sh", "x", 9)), reportOf(1, 0, run("a.sh", "x", 1)), 0, 0, 0, 0, ""},
		"twice now":                     {reportOf(2, 0, run("a.sh", "x", 1), run("a.sh", "x", 2)), reportOf(1, 0, run("a.sh", "x", 1)), 1, 0, 1, 0, ""},
		"once now":                      {reportOf(1, 0, run("a.sh", "x", 1)), reportOf(2, 0, run("a.sh", "x", 1), run("a.sh", "x", 2)), 0, 0, 0, 1, ""},
		"another text":                  {reportOf(1, 0, run("a.sh", "y", 1)), reportOf(1, 0, run("a.sh", "x", 1)), 1, 0, 1, 1, ""},
		"in another file":               {reportOf(1, 0, run("b.sh", "x", 1)), reportOf(1, 0, run("a.sh", "x", 1)), 1, 0, 1, 1, ""},
		"more than are listed":          {reportOf(3, 1, run("a.sh", "x", 1), fetch), reportOf(1, 1, run("a.sh", "x", 1), fetch), 2, 0, 0, 0, "2 findings more cannot be compared, and count as new"},
		"more than were listed":         {reportOf(1, 0, run("a.sh", "x", 1)), reportOf(9, 0, run("b.sh", "x", 1)), 1, 0, 1, 0, ""},
		"not known, in the same file":   {reportOf(1, 0, run("same.sh", "x", 1)), nil, 0, 0, 0, 0, ""},
		"not known, in the same zip":    {reportOf(1, 0, run("same.zip!a/b.sh", "x", 1)), nil, 0, 0, 0, 0, ""},
		"not known, in a changed file":  {reportOf(1, 1, run("a.sh", "x", 1), fetch), nil, 1, 1, 2, 0, ""},
		"not known, of the whole skill": {reportOf(0, 1, finding("not-read", scan.Review, "", "", 0)), nil, 0, 1, 1, 0, ""},
	} {
		k := &report.Compared{Scanned: &report.Scanned{Report: *row.now}}
		compareFindings(k, &earlier{report: row.was}, func(file string) bool { return strings.HasPrefix(file, "same") })
		if k.Enforce != row.enforce || k.Review != row.review || len(k.Found) != row.found || len(k.Ended) != row.gone || strings.Join(k.Notes, "") != row.note {
			t.Errorf("%s: %d to enforce, %d to review, %d found, %d gone, %v", name, k.Enforce, k.Review, len(k.Found), len(k.Ended), k.Notes)
		}
	}
}

func TestNamesAndFacts(t *testing.T) {
	one, two := skill.DigestOf([]byte("1")), skill.DigestOf([]byte("2"))
	n := namesOf(map[string]skill.Digest{"same": one, "gone": one, "changed": one}, map[string]skill.Digest{"same": one, "new": one, "changed": two})
	if !slices.Equal(n.Added, []string{"new"}) || !slices.Equal(n.Removed, []string{"gone"}) || !slices.Equal(n.Changed, []string{"changed"}) {
		t.Errorf("%+v", n)
	}
	f := factsWithout(scan.Facts{Programs: []string{"curl", "git"}, NotRead: []string{"x.bin"}}, scan.Facts{Programs: []string{"git", "wget"}, Hosts: []string{"a.example"}})
	if !slices.Equal(f.Programs, []string{"curl"}) || !slices.Equal(f.NotRead, []string{"x.bin"}) || len(f.Hosts) > 0 {
		t.Errorf("%+v", f)
	}
}
