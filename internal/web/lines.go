package web

import (
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/limit"
)

// Limits of the text that a page shows. Without them, a file of a million empty lines would be a
// page of 100 MB. The whole file can be downloaded.
const (
	maxShown = 1 << 20 // bytes
	maxLines = 20_000
	// lineRoom is the approximate memory of one line on a page, including all copies, in
	// bytes.
	lineRoom = 512
)

// source is the text of a file in lines, which a page shows with numbers.
type source struct {
	Lines   []string
	Cut     bool   // the file has more text
	RawHref string // of the whole file
}

// sourceOf splits the beginning of a file's text into lines. It reserves memory for them.
func sourceOf(r *request, text, raw string) (s source, err error) {
	cut := display.CutBytes(text, maxShown)
	s.Lines, s.RawHref = linesOf(cut), raw
	s.Cut = len(cut) < len(text) || len(s.Lines) > maxLines
	s.Lines = s.Lines[:min(len(s.Lines), maxLines)]
	return s, limit.Reserve(r.Context(), lineRoom*int64(len(s.Lines)))
}

// linesOf splits a text into lines. For a text with more lines than a page shows, it returns one
// line more than that.
func linesOf(text string) []string {
	lines := strings.SplitN(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n", maxLines+2)
	return lines[:min(len(lines), maxLines+1)]
}
