package skill

import (
	"testing"

	"github.com/knack-dev/knack/internal/base/display"
)

// TestGist checks that an opening is left out as a whole or not at all.
func TestGist(t *testing.T) {
	for _, row := range [][2]string{
		{"When the user wants to plan a launch", "Plan a launch"},
		{"Use this skill whenever the user asks for help with a spreadsheet", "A spreadsheet"},
		{"This skill should be used when working with tensors", "Working with tensors"},
		{"Use proactively when: a build fails", "A build fails"},
		{"Use when (a) tests fail or (b) lint fails", "(a) tests fail or (b) lint fails"},
		{"Use when iOS builds fail", "iOS builds fail"},
		{"Use when 用户要处理表格和文档的时候", "用户要处理表格和文档的时候"},
		{"Use this skill if the user does not want tests", "The user does not want tests"},
		{"Use this skill when the user's code has bugs", "The user's code has bugs"},
		// These do not count as openings.
		{"When the user's prompt mentions a spreadsheet", ""},
		{"When you're asked to review a pull request", ""},
		{"If users' data is at risk, audits the logs", ""},
		{"Use to-do lists for planning the week", ""},
		{"Use for-loops in Bash without pain", ""},
		{"Formats documents. Use when the user asks for it", ""},
		{"Use for every request to commit changes", ""},
		{"Use when asked", ""}, // too little is left
		{"", ""},
	} {
		want := row[1]
		if want == "" {
			want = row[0]
		}
		if got := Gist(row[0]); got != want {
			t.Errorf("%q becomes %q, want %q", row[0], got, want)
		}
	}
}

// TestBrief checks that only a description that is too long loses its opening.
func TestBrief(t *testing.T) {
	const description = "Use this skill when the user wants to mend a bicycle, with or without a chain"
	for n, want := range map[int]string{len(description): description, len(description) - 1: "Mend a bicycle, with or without a chain", 22: "Mend a bicycle, with…"} {
		if got := Brief(description, n, display.Cut); got != want {
			t.Errorf("in %d characters: %q, want %q", n, got, want)
		}
	}
}
