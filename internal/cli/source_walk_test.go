//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestSourceWalk swaps releases while clients walk over all pages of a list. It checks that each
// walk has every unchanged skill exactly once, and that later reads get the new release.
func TestSourceWalk(t *testing.T) {
	testwait.Slow(t)
	host := registrytest.Start(t).Host
	const n = 1200
	skills := registrytest.Skills{}
	for i := range n {
		name := fmt.Sprintf("skill-%04d", i)
		skills[name+"/SKILL.md"] = registrytest.Skill(name, "One.")
	}
	release := func(version string) {
		registrytest.Release(t, host, "acme/skills", "prod", 8, skills, map[string]string{"org.opencontainers.image.version": version})
	}
	release("1.0.0")
	s := follow(t, t.TempDir(), settingsOf(host, ""))
	s.shows("/readyz", "ok")
	a := &asker{t: t, url: "http://" + s.address + "/mcp"}
	for round, method := range []string{"resources/list", "skills/list"} {
		seen, cursor, pages := map[string]int{}, "", 0
		for pages == 0 || cursor != "" {
			params := `{}`
			if cursor != "" {
				params = `{"cursor":"` + cursor + `"}`
			}
			var answer struct {
				Result struct {
					NextCursor        string
					Resources, Skills []struct{ URI string }
				}
			}
			text := a.call("2026-07-28", "", method, "", params)
			if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Result.Resources)+len(answer.Result.Skills) == 0 {
				t.Fatalf("%s: %v, %.300s", method, err, text)
			}
			for _, e := range append(answer.Result.Resources, answer.Result.Skills...) {
				seen[e.URI]++
			}
			cursor = answer.Result.NextCursor
			if pages++; pages == 1 {
				// The first skill is gone, the last one has changed, and there is a new one after
				// skill-0100.
				version := fmt.Sprintf("2.%d.0", round)
				delete(skills, fmt.Sprintf("skill-%04d/SKILL.md", round))
				skills["skill-1199/SKILL.md"] = registrytest.Skill("skill-1199", version)
				skills[fmt.Sprintf("skill-0100-%d/SKILL.md", round)] = registrytest.Skill(fmt.Sprintf("skill-0100-%d", round), version)
				release(version)
				s.shows("/raw/acme/skill-1199/SKILL.md", version)
			}
		}
		if pages < 2 {
			t.Fatalf("%s has %d pages", method, pages)
		}
		for i := 10; i < n; i++ { // the unchanged skills
			uri := fmt.Sprintf("skill://acme/skill-%04d/SKILL.md", i)
			if k := seen[uri] + seen[strings.TrimSuffix(uri, "/SKILL.md")]; k != 1 {
				t.Errorf("%s has %s %d times", method, uri, k)
				break
			}
		}
	}
	if code, body := s.get("/raw/acme/skill-1199/SKILL.md"); code != http.StatusOK || !strings.Contains(body, "2.1.0") {
		t.Error(code, body)
	}
	s.stop()
}
