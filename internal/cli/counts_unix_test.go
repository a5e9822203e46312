//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// TestCountsOverHTTP checks that home, health and the API report the same about skills as doctor,
// check and publish: the number, the state of each skill, whether it is published, and every
// problem.
func TestCountsOverHTTP(t *testing.T) {
	testwait.Slow(t)
	for name, dir := range map[string]func(*testing.T) string{
		"corpus": func(t *testing.T) string { return corpus.Dir(t, "skills") }, "edge": func(t *testing.T) string { return corpus.Dir(t, "edge") }, "states": inEveryState, "hostile": hostileSkills,
	} {
		t.Run(name, func(t *testing.T) {
			if name == "corpus" {
				testwait.Slow(t)
			}
			agreeOverHTTP(t, dir(t))
		})
	}
}

func agreeOverHTTP(t *testing.T, dir string) {
	var list counted // the counts of doctor
	out, stderr, _ := ran(t, dir, "doctor", "--dir", ".", "--no-builtin", "--json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	base := strings.TrimSuffix(startServer(t, "--dir", dir), "/mcp")
	ask := func(path string, into any) string {
		t.Helper()
		var code int
		var body string
		testwait.Until(t, func() bool {
			code, body = fetch(t, base+path)
			return code != 503 && !isUnready(body)
		}, "the check of all skills for", path)
		if code != 200 {
			t.Fatalf("%s: %d %s", path, code, body)
		}
		if into != nil {
			if err := json.Unmarshal([]byte(body), into); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
		return body
	}
	c := list.Count
	// The server names files by the label of their root, and the command line by their folder.
	local := func(text string) string { return strings.ReplaceAll(text, "dir-1/", "") }
	word := func(p doctor.Problem) string {
		p.File, p.Message = local(p.File), local(p.Message)
		return fmt.Sprintf("%+v", p)
	}
	type page struct {
		Count  judgement.Count
		Total  int
		Next   string
		Skills []struct {
			File, Self string
			State      judgement.State
			Published  bool
			Problems   int
			Findings   []doctor.Problem
		}
	}
	problems := map[string][]string{} // maps a file to its problems
	for cursor := ""; ; {
		var p page
		ask("/api/v1/problems?limit=200&cursor="+cursor, &p)
		if diff := cmp.Diff(c, p.Count); diff != "" {
			t.Fatalf("doctor and /api/v1/problems count otherwise: %s", diff)
		}
		for _, s := range p.Skills {
			for _, f := range s.Findings {
				problems[local(s.File)] = append(problems[local(s.File)], word(f))
			}
		}
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	states, published, severe := map[judgement.State]int{}, map[string]bool{}, map[string]int{}
	for _, state := range []judgement.State{judgement.Fine, judgement.Problems, judgement.Shadowed, judgement.Copied, judgement.Skipped} {
		for cursor := ""; ; {
			var p page
			ask("/api/v1/skills?limit=200&state="+string(state)+"&cursor="+cursor, &p)
			states[state] = p.Total
			for _, s := range p.Skills {
				published[local(s.File)], severe[local(s.File)] = s.Published, s.Problems
				if s.State != state {
					t.Errorf("%s is %s, among those that are %s", s.File, s.State, state)
				}
				if problems[local(s.File)] == nil && s.Self != "" {
					var one struct{ Findings []doctor.Problem }
					ask(strings.Replace(s.Self, "/skills/", "/problems/", 1), &one)
					for _, f := range one.Findings {
						problems[local(s.File)] = append(problems[local(s.File)], word(f))
					}
				}
			}
			if cursor = p.Next; cursor == "" {
				break
			}
		}
	}
	want := map[judgement.State]int{judgement.Fine: c.Fine, judgement.Problems: c.Problems, judgement.Shadowed: c.Shadowed, judgement.Copied: c.Copies, judgement.Skipped: c.Skipped}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("doctor and the API by state: %s", diff)
	}
	publishable := 0
	for _, s := range list.Skills {
		file, grave := s.File, 0
		for i, p := range s.Problems {
			if p.Severity != skill.SeverityInfo {
				grave++
			}
			if got := problems[file]; i >= len(got) || got[i] != word(p) {
				t.Errorf("%s: doctor says %s, the API %q", file, word(p), got)
			}
		}
		if len(problems[file]) != len(s.Problems) || severe[file] != grave || published[file] != s.Publishable {
			t.Errorf("%s: %d findings, %d problems and %t over HTTP; %d, %d and %t in doctor", file, len(problems[file]), severe[file], published[file], len(s.Problems), grave, s.Publishable)
		}
		if published[file] {
			publishable++
		}
	}
	if publishable != c.Publishable || len(published) != c.Skills {
		t.Errorf("%d of %d are published over HTTP, %d of %d in doctor", publishable, len(published), c.Publishable, c.Skills)
	}
	// The pages have the same counts, in their filters and in their text.
	thousands := func(n int) string {
		if n < 1000 {
			return fmt.Sprint(n)
		}
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	home := ask("/", nil)
	for state, n := range want {
		re := fmt.Sprintf(`<span>%s</span> <span class="n">%s</span>`, state, thousands(n))
		if isHidden := n == 0 && state == judgement.Copied; strings.Contains(home, re) == isHidden {
			t.Errorf("the home page has no %s", re)
		}
	}
	health := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(ask("/health", nil), "")
	for _, want := range []string{
		fmt.Sprintf(`\b%s errors?, %s warnings? and %s infos?\b`, thousands(c.Errors), thousands(c.Warnings), thousands(c.Infos)),
		fmt.Sprintf(`Skipped %s\n`, thousands(c.Skipped)), fmt.Sprintf(`Not published %s\n`, thousands(c.Skills-c.Skipped-c.Publishable)),
		fmt.Sprintf(`Problems %s\n%s skills? ha(s|ve) problems, %s (is|are) fine`, thousands(c.Problems), thousands(c.Problems), thousands(c.Fine)),
	} {
		if want = strings.ReplaceAll(want, " 0\\n", "\\n"); !regexp.MustCompile(want).MatchString(health) {
			t.Errorf("the health page has no %s in\n%s", want, health)
		}
	}
}
