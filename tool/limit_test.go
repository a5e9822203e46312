package tool

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/profile"
)

// TestLimit checks that limited tools keep the limit for every client, even one that shows less,
// and that their lists name exactly the skills that they do not omit.
func TestLimit(t *testing.T) {
	v := viewOf(t, hostOf(t, many(300, 300)))
	for _, set := range SetNames() {
		tools, err := ParseSets(set)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1024, 3000} {
			limited, err := Limit(tools, n)
			if err != nil {
				t.Fatal(err)
			}
			for i, tl := range limited {
				for _, c := range append(profile.Known(), profile.Client{}, profile.Client{Limit: profile.Unlimited}, profile.Client{Limit: 1100}) {
					most := n
					if limit := c.Profile().Description; limit > 0 {
						most = min(n, limit)
					}
					if got := display.Length(tl.Define(v, c).Description); got > most {
						t.Errorf("%s of %s for %+v: %d characters, the limit is %d", tl.Name, set, c, got, most)
					}
				}
				if tl.arranged == nil {
					continue
				}
				text, a := tl.Define(v, profile.Client{}).Description, tl.arranged(v, profile.Client{})
				for j, e := range v.Listed {
					if a.Omits(j) == strings.Contains(text, e.Name) {
						t.Fatalf("%s of %s within %d: %s is omitted: %v", tl.Name, set, n, e.Name, a.Omits(j))
					}
				}
				difftest.Same(t, tools[i].Define(v, profile.Client{}).Description != text, true) // Limit has not changed the given tools
			}
		}
		if same, err := Limit(tools, 0); err != nil || &same[0] != &tools[0] {
			t.Errorf("no limit gives other tools, or %v", err)
		}
	}
}

// TestLeastLimit checks that a limit below the length of the fixed words is refused. The error
// names the minimum, which works for any number of skills.
func TestLeastLimit(t *testing.T) {
	for _, set := range SetNames() {
		tools, err := ParseSets(set)
		if err != nil {
			t.Fatal(err)
		}
		least := 0
		for _, tl := range tools {
			least = max(least, tl.least())
		}
		if _, err := Limit(tools, least-1); err == nil || !strings.Contains(err.Error(), fmt.Sprintf(" takes %d characters", least)) {
			t.Errorf("%s: %v", set, err)
		}
		limited, err := Limit(tools, least)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 3, 20, 3000} {
			v := viewOf(t, hostOf(t, many(n, 200)))
			for _, tl := range limited {
				if got := display.Length(tl.Define(v, profile.Client{}).Description); got > least {
					t.Errorf("%s of %s with %d skills: %d characters, the limit is %d", tl.Name, set, n, got, least)
				}
			}
		}
	}
}

// TestLimitTakesEffect checks that each limit, even an enormous one, bounds the description. If
// anything is cut, the description uses at least 85 % of the limit. Without a limit the list has
// 16,000 characters. A client that shows less gets less.
func TestLimitTakesEffect(t *testing.T) {
	v := viewOf(t, hostOf(t, many(200, 300)))
	define := func(n int, c profile.Client) string {
		limited, err := Limit(toolsOf(t, "default"), n)
		if err != nil {
			t.Fatal(err)
		}
		return limited[0].Define(v, c).Description
	}
	whole := define(math.MaxInt, profile.Client{})
	if strings.Contains(whole, " to fit") || display.Length(whole) < 60_000 {
		t.Errorf("without a bound the list has %d characters: %.600s", display.Length(whole), whole)
	}
	for _, c := range append(profile.Known(), profile.Client{}, profile.Client{Limit: profile.Unlimited}) {
		for _, n := range []int{0, 700, 16_000, 16_001, 20_000, 60_000, 1 << 40, math.MaxInt} {
			text, most := define(n, c), n
			if n == 0 {
				most = listing.Budget + display.Length(defaultHead) + display.Length(skillTail)
			}
			if shows := c.Profile().Description; shows > 0 {
				most = min(most, shows)
			}
			switch used := c.Profile().Unit.Length(text); {
			case display.Length(text) > most:
				t.Errorf("%s with %d: %d characters", c.Name, n, display.Length(text))
			case strings.Contains(text, " to fit") && used*100 < most*85:
				t.Errorf("%s with %d: only %d are used of %d", c.Name, n, used, most)
			case most > 2*len(whole) && text != whole:
				t.Errorf("%s with %d: the list is cut", c.Name, n)
			}
		}
	}
	for _, n := range []int{-1, math.MinInt, 1} {
		if _, err := Limit(toolsOf(t, "default"), n); err == nil {
			t.Errorf("the limit %d is accepted", n)
		}
	}
}

// TestLimitWhileIncomplete checks that the shortest list tells that skills are still being read, in
// the room that contract 002's text leaves in 1,024 characters.
func TestLimitWhileIncomplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := &unreadRoot{Memory: skilltest.New("dir-1", skill.ScopeProject, nil), gate: make(chan struct{})}
		c := catalog.New([]catalog.Source{late, project(map[string]string{"git/SKILL.md": md("git", "Git")})}, catalog.Options{Patience: time.Millisecond})
		go func() { _ = c.Run(t.Context()) }()
		v := viewOf(t, NewHost(c))
		for set, lists := range map[string]string{"universal": "an unknown name lists", "default": "find_skills lists"} {
			tools, err := ParseSets(set)
			if err != nil {
				t.Fatal(err)
			}
			limited, err := Limit(tools, tools[0].least())
			if err != nil {
				t.Fatal(err)
			}
			d := limited[0].Define(v, profile.Client{}).Description
			if _, list, _ := strings.Cut(d, "<available_skills>\n"); list != "(incomplete; "+lists+" the skills)\n</available_skills>" || display.Length(d) > tools[0].least() {
				t.Errorf("%s: %q", set, list)
			}
		}
	})
}
