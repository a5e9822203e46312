//go:build linux

package safety

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/test/testwait"
)

func forbiddenPart() part {
	return part{name: "forbidden", promise: "skills that a rule hides from a client, requested in every way: the answer for a skill that does not exist, and no list, search, number or page reveals one", run: forbidden}
}

// forbidden sends requests as two subjects: one sees every skill, and two rules restrict the other.
// It checks that no answer tells the second subject anything of a hidden skill.
func forbidden(r *trial) {
	home := r.dir()
	root := filepath.Join(home, "skills")
	hidden := map[string]canary{"a hidden skill's description": newCanary("hidden description"), "a hidden skill's body": newCanary("hidden body"), "a hidden file": newCanary("hidden file"), "a hidden skill's heading": newCanary("hidden heading"), "a hidden inner skill": newCanary("hidden inner")}
	text := func(what string) string { return hidden[what].text }
	r.write(root, map[string]string{
		"common/SKILL.md":       skillMD("common", "INSIDE common"),
		"common/a.md":           "INSIDE a",
		"vault-7/SKILL.md":      "---\nname: vault-7\ndescription: About " + text("a hidden skill's description") + ".\n---\n# " + text("a hidden skill's heading") + "\nINSIDE vault " + text("a hidden skill's body"),
		"vault-7/a.md":          "INSIDE a " + text("a hidden file"),
		"quorum/SKILL.md":       skillMD("quorum", "INSIDE quorum"),
		"quorum/inner/SKILL.md": skillMD("inner", "INSIDE inner "+text("a hidden inner skill")),
		"vault-9/SKILL.md":      "---\nname: vault-9\n---\n" + text("a hidden skill's body"), // skipped
	})
	hash := func(token string) string {
		sum := sha256.Sum256([]byte(token))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	const sees, doesNot = "knack_token-of-who-sees-it-all", "knack_token-of-who-does-not-see"
	r.write(home, map[string]string{"access.yaml": fmt.Sprintf(`access:
  default: allow
  tokens:
    - {hash: "%s", subject: anna}
    - {hash: "%s", subject: bob}
  rules:
    - subjects: [bob]
      deny: ["skill://vault-*/**", "skill://quorum/inner/**"]
`, hash(sees), hash(doesNot))})
	web := r.http(setting{home: home}, "--no-builtin", "--dir", root, "--config", filepath.Join(home, "access.yaml"))
	anna, bob := &ways{r: r, token: sees}, &ways{r: r, token: doesNot}
	all := func(w *ways) []way { return append(calls(w.eras(web)), w.pages(web)...) }
	theirs, mine := all(anna), all(bob)
	annaIn, bobIn := &ways{r: r}, &ways{r: r} // signed-in browsers
	annaIn.signIn(web, sees)
	bobIn.signIn(web, doesNot)
	theirs = append(theirs, annaIn.pages(web)...)
	for _, way := range bobIn.pages(web) {
		way.name = "signed in, " + way.name
		mine = append(mine, way)
	}
	// Without an index, a page orders its results differently. The API waits until the index is
	// ready.
	indexed := func() {
		_, err := bob.get(strings.TrimSuffix(web.url, "/mcp") + "/api/v1/skills?q=git")
		r.check("the index", err)
	}
	indexed()
	for i, way := range mine {
		for _, c := range []struct{ skill, absent, path, inside string }{
			{"vault-7", "vault-8", "SKILL.md", "INSIDE vault"}, {"vault-7", "vault-8", "a.md", "INSIDE a"}, {"vault-7", "vault-8", "none.md", ""}, {"vault-7", "vault-8", ".", ""}, {"vault-7", "vault-8", "", ""},
			{"vault-9", "vault-8", "SKILL.md", ""}, {"quorum", "murouq", "SKILL.md", "INSIDE quorum"}, {"quorum", "murouq", "inner/SKILL.md", "INSIDE inner"}, {"quorum/inner", "murouq/inner", "SKILL.md", ""}, {"VAULT-7", "VAULT-8", "SKILL.md", ""}, {"vault-70", "vault-80", "SKILL.md", ""},
		} {
			what := fmt.Sprintf("%s, %s, %s", way.name, c.skill, c.path)
			if way.reads && c.inside != "" { // otherwise the test proves nothing
				answer, err := theirs[i].ask(c.skill, c.path)
				if err == nil && !strings.Contains(answer, c.inside) {
					err = fmt.Errorf("is not had by who may: %s", excerpt(answer))
				}
				r.check(what+", of who may see it", err)
			}
			got, err := timed(func() (string, error) { return way.ask(c.skill, c.path) })
			want := ""
			if err == nil {
				want, err = way.ask(c.absent, c.path)
			}
			if err == nil {
				err = leaks(got, hidden)
			}
			if got, want := plain(got, c.skill), plain(want, c.absent); err == nil && got != want {
				err = fmt.Errorf("is told apart from one that does not exist:\n%s\n%s", got, want)
			}
			r.check(what, err)
		}
		answer, err := way.ask("common", "a.md")
		if err == nil && way.reads && !strings.Contains(answer, "INSIDE a") {
			err = fmt.Errorf("what is allowed is not had: %s", excerpt(answer))
		}
		r.check(way.name+", common", err)
	}
	tells := regexp.MustCompile(`(?i)vault|quorum|inner`)
	list := func(what string, asked string, ask func() (string, error)) {
		answer, err := timed(ask)
		if err == nil {
			err = leaks(answer, hidden)
		}
		if found := tells.FindString(strings.ReplaceAll(answer, asked, "")); err == nil && found != "" {
			err = fmt.Errorf("leaks the name %q: %s", found, excerpt(answer[max(0, strings.Index(answer, found)-100):]))
		}
		r.check(what, err)
	}
	words := []string{text("a hidden skill's description"), text("a hidden skill's heading"), "vault", "inner", "About"}
	for _, via := range bob.eras(web) {
		for _, method := range []string{"tools/list", "resources/list", "prompts/list", "skills/list", "resources/templates/list"} {
			list(via.name+" "+method, "", func() (string, error) { return via.ask(method, map[string]any{}) })
		}
		for _, word := range words {
			list(via.name+" find_skills "+word, word, func() (string, error) {
				answer, err := via.ask("tools/call", tool("find_skills", map[string]any{"query": word}))
				return withoutEcho(answer, word), err
			})
			list(via.name+" completion/complete "+word, word, func() (string, error) {
				return via.ask("completion/complete", map[string]any{"ref": map[string]any{"type": "ref/resource", "uri": "skill://{+path}"}, "argument": map[string]any{"name": "path", "value": word[:3]}})
			})
		}
	}
	base := strings.TrimSuffix(web.url, "/mcp")
	for _, at := range webLists {
		list("GET "+at, "", func() (string, error) { return bob.get(base + at) })
		list("signed in, GET "+at, "", func() (string, error) { return bobIn.get(base + at) })
	}
	// A change of a hidden skill must not show in any list.
	var before []string
	lists := slices.DeleteFunc(slices.Clone(webLists), func(at string) bool { return at == "/metrics" }) // it counts requests
	for _, at := range lists {
		answer, err := bob.settled(base + at)
		r.check("GET "+at+" before a hidden change", err)
		before = append(before, still(answer))
	}
	seen, err := anna.get(base + "/skills/vault-7/")
	r.check("a hidden skill's page", err)
	r.write(root, map[string]string{"vault-7/SKILL.md": "---\nname: vault-7\ndescription: Another text.\n---\nINSIDE vault, changed"})
	now := ""
	if err == nil && !testwait.Within(r.patience(), func() bool {
		now, _ = anna.get(base + "/skills/vault-7/")
		return now != seen && strings.Contains(now, "Another text.")
	}) {
		err = fmt.Errorf("a user who may see it sees no change: %s", excerpt(now))
	}
	r.check("a hidden skill's change", err)
	indexed()
	for i, at := range lists {
		answer, err := bob.settled(base + at)
		if now := still(answer); err == nil && now != before[i] {
			err = fmt.Errorf("tells that a hidden skill has changed: %s", firstDifference(before[i], now))
		}
		r.check("GET "+at+" behind a hidden change", err)
	}
	for _, at := range []string{"/?q=", "/api/v1/skills?q=", "/api/v1/skills?state=skipped&q="} {
		for _, word := range words {
			list("GET "+at+word, word, func() (string, error) {
				answer, err := bob.get(base + at + url.QueryEscape(word))
				return withoutEcho(answer, word), err
			})
		}
	}
	// Without a token the answers reveal nothing.
	for _, at := range webLists {
		answer, err := (&ways{r: r}).get(base + at)
		if open := at == "/signin"; err == nil && !strings.HasPrefix(answer, "401") && !open {
			err = fmt.Errorf("without a token: %s", excerpt(answer))
		}
		r.check("GET "+at+" without a token", err)
	}
	r.ends([]*knack{web})
}

// ofTheMoment matches the parts of an answer that differ when a request is repeated.
var ofTheMoment = regexp.MustCompile(`(?m)Date:\[[^\]]*\]|Etag:\[[^\]]*\]|^id: .*$|(less than )?[0-9.]+ ?(ms|µs)`)

// still returns an answer without the counts and times that change with each request.
func still(answer string) string {
	return timeOfDay.ReplaceAllString(ofTheMoment.ReplaceAllString(answer, ""), "")
}

var timeOfDay = regexp.MustCompile(`(?m)Scanned .*? took |Content-Length:\[\d+\]|Last-Modified:\[[^\]]*\]`)

// firstDifference returns the surroundings of the first difference of two texts.
func firstDifference(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return fmt.Sprintf("%s, and before %s", excerpt(b[max(0, n-40):]), excerpt(a[max(0, n-40):]))
}

// plain removes the requested name, in any case, and the parts that differ each time from an
// answer.
func plain(answer, name string) string {
	answer = ofTheMoment.ReplaceAllString(answer, "")
	return regexp.MustCompile(`(?i)`+regexp.QuoteMeta(name)+`|`+regexp.QuoteMeta(url.PathEscape(name))+`|`+regexp.QuoteMeta(url.QueryEscape(name))).ReplaceAllString(answer, "NAME")
}
