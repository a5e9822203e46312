package scan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/skill"
)

// reportOf returns a report with findings, each given as "rule file text", and more unlisted
// findings to review. The rule bad is in the lane enforce, and every other rule in the lane review.
func reportOf(more int, findings ...string) *Report {
	r := &Report{Review: more}
	for i, f := range findings {
		word := strings.Fields(f)
		lane := Review
		if word[0] == "bad" {
			lane = Enforce
			r.Enforce++
		} else {
			r.Review++
		}
		r.Findings = append(r.Findings, Finding{Rule: skill.RuleID(word[0]), Lane: lane, File: word[1], Position: skill.Position{Line: i + 1}, Text: skill.DigestOf([]byte(word[2])), Message: "said"})
	}
	return r
}

// known returns a baseline with the findings of one skill, written and parsed again.
func known(t *testing.T, folder string, r *Report) *Baseline {
	t.Helper()
	var b Baseline
	b.Add(folder, r)
	again, err := Parse(b.Format())
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestSilence(t *testing.T) {
	was := reportOf(0, "bad run.sh x", "odd SKILL.md y", "odd SKILL.md y")
	for name, c := range map[string]struct {
		now             *Report
		folder, want    string
		silenced        int
		enforce, review int
	}{
		"the same":            {reportOf(0, "bad run.sh x", "odd SKILL.md y", "odd SKILL.md y"), "a", "", 3, 0, 0},
		"moved":               {reportOf(0, "odd SKILL.md y", "odd SKILL.md y", "bad run.sh x"), "a", "", 3, 0, 0},
		"one is gone":         {reportOf(0, "odd SKILL.md y"), "a", "", 1, 0, 0},
		"a third of the same": {reportOf(0, "odd SKILL.md y", "odd SKILL.md y", "odd SKILL.md y"), "a", "odd:3", 2, 0, 1},
		"another text":        {reportOf(0, "bad run.sh z", "odd SKILL.md y"), "a", "bad:1", 1, 1, 0},
		"another rule":        {reportOf(0, "bad SKILL.md y"), "a", "bad:1", 0, 1, 0},
		"another file":        {reportOf(0, "bad run.py x"), "a", "bad:1", 0, 1, 0},
		"another skill":       {reportOf(0, "bad run.sh x"), "b", "bad:1", 0, 1, 0},
		"more than are shown": {reportOf(4, "bad run.sh x"), "a", "", 1, 0, 4},
	} {
		b := known(t, "a", was)
		n := b.Silence(c.folder, c.now)
		var left []string
		for _, f := range c.now.Findings {
			left = append(left, fmt.Sprint(f.Rule, ":", f.Position.Line))
		}
		if got := strings.Join(left, " "); got != c.want || n != c.silenced || c.now.Enforce != c.enforce || c.now.Review != c.review {
			t.Errorf("%s: left %q, silenced %d, %d to enforce, %d to review; want %+v", name, got, n, c.now.Enforce, c.now.Review, c)
		}
	}
}

// TestSilenceMessage checks that a finding with another message is a new finding. The message can
// contain the URL of a file that another line runs.
func TestSilenceMessage(t *testing.T) {
	b := known(t, "a", reportOf(0, "odd SKILL.md y"))
	now := reportOf(0, "odd SKILL.md y")
	now.Findings[0].Message = "said otherwise"
	if n := b.Silence("a", now); n != 0 {
		t.Error("it is known")
	}
}

// TestSilenceUnlisted checks that a baseline records the number of the findings that a report does
// not list.
func TestSilenceUnlisted(t *testing.T) {
	b := known(t, "a", reportOf(50, "odd SKILL.md y"))
	if now := reportOf(50, "odd SKILL.md y"); b.Silence("a", now) != 51 || now.Review != 0 {
		t.Errorf("%+v", now)
	}
	b = known(t, "a", reportOf(50, "odd SKILL.md y"))
	if now := reportOf(53, "odd SKILL.md y"); b.Silence("a", now) != 51 || now.Review != 3 || now.Enforce != 0 {
		t.Errorf("%+v", now)
	}
}

func TestFormat(t *testing.T) {
	digest := skill.DigestOf(append(slice(skill.DigestOf([]byte("x"))), "said"...)).String()
	var b Baseline
	b.Add("b/.", reportOf(2, "odd SKILL.md x"))
	b.Add("a", reportOf(0, `odd <é>"\.md x`, `odd <é>"\.md x`, "bad SKILL.md x"))
	want := `{
  "kind": "knack scan baseline",
  "version": 1,
  "findings": [
    {"file": "a/<é>\"\\.md", "rule": "odd", "text": "` + digest + `", "count": 2},
    {"file": "a/SKILL.md", "rule": "bad", "text": "` + digest + `"},
    {"file": "b", "rule": "more", "count": 2},
    {"file": "b/SKILL.md", "rule": "odd", "text": "` + digest + `"}
  ]
}
`
	if got := string(b.Format()); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	again, err := Parse([]byte(want))
	if err != nil || string(again.Format()) != want {
		t.Errorf("%v\n%s", err, again.Format())
	}
	if got := string(new(Baseline).Format()); got != "{\n  \"kind\": \"knack scan baseline\",\n  \"version\": 1,\n  \"findings\": []\n}\n" {
		t.Errorf("without a finding: %s", got)
	}
}

func slice(d skill.Digest) []byte { return d[:] }

func TestParseRefuses(t *testing.T) {
	const head = `{"kind": "knack scan baseline", "version": 1, "findings": [`
	digest := skill.DigestOf(nil).String()
	row := `{"file": "a", "rule": "r", "text": "` + digest + `"}`
	if _, err := Parse([]byte(head + row + "]}")); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                                "1:1: the file is empty",
		" \n":                             "1:1: the file is empty",
		"\xff":                            "1:1: the byte 0xff is not UTF-8",
		"{\n  \"a\" 1}":                   "2:7: '1' is here instead of \":\"",
		head + row:                        "1:",
		"[]":                              "1:1: the file is not a baseline",
		"# notes\n":                       "1:1: the baseline is not an object",
		`{"findings": []}`:                "1:1: the file is not a baseline",
		`{"kind": 3}`:                     "1:1: the file is not a baseline",
		`{"kind": "knack scan baseline"}`: "1:1: the baseline has no field version",
		`{"kind": "knack scan baseline", "version": 2}`:                   "1:44: version 2 is not known",
		`{"kind": "knack scan baseline", "version": "1"}`:                 "1:44: version is not a whole number from 0",
		`{"kind": "knack scan baseline", "version": 1, "é": 2, "more": 1`: "1:47: there is no field 'é' in the baseline",
		`{"kind": "knack scan baseline", "version": 1, "more": 2}`:        "1:47: there is no field 'more' in the baseline",
		`{"kind": "knack scan baseline", "version": 1, "findings": {}}`:   "1:59: findings is not a list",
		head + "\n3]}":          "2:1: a finding is not an object",
		head + "\n{}]}":         "2:1: a finding has no field file",
		head + "\n{\"é\": 1}]}": "2:2: there is no field 'é' in a finding",
		head + "\n{\"file\": \"a\", \"rule\": \"r\"}]}": "2:1: a finding has no field text",
		head + "\n{\"file\": \"a\", \"file\": \"r\"}]}": "2:15: a finding has the field file twice",
		head + "\n{\"text\": \"é\", \"file\": 4}]}":     "2:10: text is not sha256:",
		head + "\n{\"count\": 0}]}":                     "2:11: count is not a number from 1",
		head + "\n{\"count\": 1.5}]}":                   "2:11: count is not a whole number from 0",
		head + "\n" + row + ",\n" + row + "]}":          "3:1: a finding is there twice",
		head + "]} {}":                                  "1:",
		head + "\n<<<<<<< HEAD\n" + row + "]}":          "2:1: the file has the conflict markers of a merge",
		head + strings.Repeat("[", 1<<20):               "1:",
		strings.Repeat(" ", MaxSize+1):                  "1:1: the file is too large",
	} {
		b, err := Parse([]byte(text))
		var bad *jsonfile.Error
		if b != nil || !errors.As(err, &bad) || !strings.HasPrefix(fmt.Sprintf("%d:%d: %s", bad.Line, bad.Column, bad.Message), want) || bad.Fix == "" {
			t.Errorf("%.80q: %v, want %s", text, err, want)
		}
	}
}
