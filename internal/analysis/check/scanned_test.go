package check

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// TestScanned checks that a finding to enforce is an error and a finding to review an info. It also
// checks that Format reports only findings about the characters of SKILL.md.
func TestScanned(t *testing.T) {
	for _, r := range scan.Rules {
		if r.ID == "name-near" {
			continue // it compares skills with each other
		}
		judge := func(text string) (whole, quick []Finding) {
			fsys := fileOf(sound)
			fsys[cmp.Or(r.In, skill.MainFile)] = &fstest.MapFile{Data: []byte(text)}
			s := skill.Load(bundleOf(fsys, "git"))
			return found(Skill(t.Context(), s, scan.Options{}), r.ID), found(Format(t.Context(), s), r.ID)
		}
		whole, quick := judge(r.Fires())
		if len(whole) == 0 {
			t.Errorf("%s: Skill does not find it", r.ID)
			continue
		}
		want := skill.SeverityInfo
		if r.Lane == scan.Enforce {
			want = skill.SeverityError
		}
		if f := whole[0]; f.Severity != want || f.File != cmp.Or(r.In, skill.MainFile) || f.Message == "" || f.Fix != r.Fix {
			t.Errorf("%s: %+v", r.ID, f)
		}
		if slices.Contains(characterRules, r.ID) != (len(quick) > 0) {
			t.Errorf("%s: Loaded says %+v", r.ID, quick)
		}
		if whole, _ := judge(r.Quiet()); len(whole) > 0 {
			t.Errorf("%s: finds %+v in an honest neighbour", r.ID, whole)
		}
	}
	for _, id := range characterRules {
		if !slices.ContainsFunc(scan.Rules, func(r scan.Rule) bool { return r.ID == id }) {
			t.Errorf("%s is no rule of package scan", id)
		}
	}
}

// opens counts how often each file is opened.
type opens struct {
	fstest.MapFS
	n map[string]int
}

func (o opens) Open(name string) (fs.File, error) {
	if f, ok := o.MapFS[name]; ok && !f.Mode.IsDir() {
		o.n[name]++
	}
	return o.MapFS.Open(name)
}

// TestScannedReadsOnce checks that no file is opened twice, and that a finding names its file as it
// is spelled on disk.
func TestScannedReadsOnce(t *testing.T) {
	fsys := opens{fstest.MapFS{
		"skill.md":   {Data: []byte(with("", "a\U000e0041b"))},
		"run.sh":     {Data: []byte("echo ZWNobyBoZWxsbw== | base64 -d | sh\n")},
		"docs/a.txt": {Data: []byte("text")},
	}, map[string]int{}}
	b := bundleOf(fstest.MapFS{"skill.md": fsys.MapFS["skill.md"]}, "git")
	b.FS = fsys
	s := skill.Load(b)
	clear(fsys.n)
	r := Skill(t.Context(), s, scan.Options{})
	for name := range fsys.MapFS {
		if fsys.n[name] != 1 {
			t.Errorf("%s is opened %d times", name, fsys.n[name])
		}
	}
	if tags := found(r, "text-tags"); len(tags) != 1 || tags[0].File != "skill.md" || tags[0].Position.String() != "5:2" || tags[0].Length != 1 {
		t.Errorf("%+v", tags)
	}
	if run := found(r, "run-decoded"); len(run) != 1 || run[0].File != "run.sh" || run[0].Position.Line != 1 || len(run[0].Notes) == 0 {
		t.Errorf("%+v", run)
	}
}

// TestCharactersOnce checks that only one rule reports the same characters.
func TestCharactersOnce(t *testing.T) {
	for text, want := range map[string]string{
		"a\u200bb": "zero-width-in-word", "a \u200b b": "text-zero-width", "a \u200b b\u200bc": "text-zero-width zero-width-in-word",
		"a\u200b\U000e0041b": "text-tags", "a \u202eb": "text-bidi", strings.Repeat("\u200b", 9): "text-zero-width-run",
	} {
		var got []string
		for _, f := range checked(t, with("", text)).Findings {
			got = append(got, string(f.Rule))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%+q: %q, want %s", text, got, want)
		}
	}
}

// TestLinkToCredentials checks that a link out of a skill is an error if it leads to credentials.
func TestLinkToCredentials(t *testing.T) {
	for target, want := range map[string]skill.Severity{
		"/home/ann/.ssh/id_ed25519": skill.SeverityError, "/home/ann/.ssh": skill.SeverityError, "/Users/ann/.aws/credentials": skill.SeverityError,
		`C:\Users\ann\.ssh\id_rsa`: skill.SeverityError, "/etc/shadow": skill.SeverityError, "/root/.netrc": skill.SeverityError,
		"/home/ann/notes.md": skill.SeverityWarning, "/home/ann/.ssh/known_hosts": skill.SeverityWarning, "/etc/hosts": skill.SeverityWarning, "": skill.SeverityWarning,
	} {
		n := skill.Notice{Path: "a/b", Rule: dir.RuleLinkOutside, Message: "leaves", Fix: "copy", Target: target}
		f := OfNotice(n)
		if f.Severity != want || f.File != "a/b" || f.Fix == "" || (f.Message == "leaves") != (want == skill.SeverityWarning) {
			t.Errorf("%q: %+v", target, f)
		}
		n.Rule = "link-dangling"
		if f := OfNotice(n); f.Severity != skill.SeverityWarning {
			t.Errorf("%q, another rule: %+v", target, f)
		}
	}
}
