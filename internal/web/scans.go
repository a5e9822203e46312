package web

import (
	"strconv"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/web/internal/checks"
	"github.com/knack-dev/knack/internal/web/internal/scans"
	"github.com/knack-dev/knack/skill"
)

// Scanned is what is known of a skill by the operator's policy.
type Scanned = scans.Known

// Scans knows what scans found in skills. Its methods may be called from any goroutine. ok is false
// if nothing is known yet.
type Scans interface {
	// Of returns all that is known of a skill.
	Of(e *catalog.Entry) (k Scanned, ok bool)
}

// scanOf returns what is known of a skill.
func (s *Site) scanOf(e *catalog.Entry) (k Scanned, ok bool) {
	if s.o.Scans == nil {
		return k, false
	}
	return s.o.Scans.Of(e)
}

// scanTotal counts what scans found in the skills of which totals are.
func scanTotal(t *checks.Totals) *scans.Total {
	of := scans.Count(t)
	return &of
}

// scanView returns what a page shows of a skill, or nil if nothing is known.
func (s *Site) scanView(v catalog.View, e *catalog.Entry) *scans.View {
	k, ok := s.scanOf(e)
	if !ok {
		return nil
	}
	out := scans.ViewOf(k, func(file string, line int) string { return lineOf(e, file, line) }, v.Whole())
	return &out
}

// scanTab returns the tab of what is known of a skill, if there is something.
func (s *Site) scanTab(e *catalog.Entry, p *skillPage) (tab choice, ok bool) {
	k, ok := s.scanOf(e)
	if !ok {
		return tab, false
	}
	n := 0
	if k.Report != nil {
		n = k.Report.Enforce + k.Report.Review
	}
	return choice{Label: "Scan", Href: p.Href + "?view=" + viewScan, Count: n, On: p.View == viewScan}, true
}

// lineOf returns the address of a line of a skill's file as text, or of the whole file if line is 0.
// An entry of an archive has that of the archive. It is "" if no page shows the file.
func lineOf(e *catalog.Entry, file string, line int) string {
	file, _, packed := strings.Cut(file, "!")
	uri, err := e.FileURI(file)
	if file == "" || err != nil { // a skill that is not served has no URIs
		return ""
	}
	href := "/skills/" + escapedPath(uri)
	if file == skill.MainFile {
		href = pageOf(e)
	}
	if isMarkdown(file) {
		href += "?view=" + viewSource
	}
	if line > 0 && !packed {
		href += "#L" + strconv.Itoa(line)
	}
	return href
}

// heldAt returns the skill that would have the address of a request after prefix, if the operator's
// policy did not hold it back; nil if there is none.
func heldAt(v catalog.View, r *request, prefix string) *catalog.Entry {
	return v.Held(skill.Scheme + strings.TrimPrefix(r.URL.EscapedPath(), prefix))
}
