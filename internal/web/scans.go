package web

import (
	"strconv"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/web/internal/scans"
	"github.com/knack-dev/knack/skill"
)

// Scanned is the result of the operator's policy for a skill.
type Scanned = scans.Known

// Scans returns the results of the operator's policy. Its methods may be called from any goroutine.
type Scans interface {
	// Of returns the result for a skill. ok is false if there is no result yet.
	Of(e *catalog.Entry) (k Scanned, ok bool)
}

// scanOf returns the policy's result for a skill.
func (s *Site) scanOf(e *catalog.Entry) (k Scanned, ok bool) {
	if s.o.Scans == nil {
		return k, false
	}
	return s.o.Scans.Of(e)
}

// scanView returns the scan of a skill for a page, or nil if the policy has no result for it.
func (s *Site) scanView(v catalog.View, e *catalog.Entry) *scans.View {
	k, ok := s.scanOf(e)
	if !ok {
		return nil
	}
	out := scans.ViewOf(k, func(file string, line int) string { return lineOf(e, file, line) }, v.Whole())
	return &out
}

// scanTab returns the tab with the scan of a skill. ok is false if the policy has no result for it.
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

// lineOf returns the address of the page that shows a line of a skill's file, or of the whole file
// if line is 0. For an entry of an archive, it returns the address of the archive. It returns "" if
// no page shows the file.
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

// heldAt returns the held-back skill at the address of a request after prefix, or nil. It is the
// skill that would have the address without the operator's policy.
func heldAt(v catalog.View, r *request, prefix string) *catalog.Entry {
	return v.Held(skill.Scheme + strings.TrimPrefix(r.URL.EscapedPath(), prefix))
}
