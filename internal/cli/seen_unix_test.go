//go:build unix

package cli_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// world is the input for a random server: rules, and the files of one to three roots. The path of a
// file begins with "dir-N".
type world struct {
	*rand.Rand
	roots  []string // folders in the server's order; their labels are dir-1 and so on
	files  map[string]string
	skills []string // paths of folders
	rules  []seenRule
	open   bool
}

type seenRule struct {
	to    string // "subjects: [x]", "groups: [x]" or ""
	deny  bool
	globs []string
}

func newWorld(seed uint64, roots int) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 8)), files: map[string]string{}, roots: []string{"dir-1", "dir-2", "a"}}
	w.Shuffle(len(w.roots), func(i, j int) { w.roots[i], w.roots[j] = w.roots[j], w.roots[i] })
	w.roots = w.roots[:roots]
	for root := 1; root <= roots; root++ {
		at := fmt.Sprintf("dir-%d/", root)
		w.add(at+"anchor", true)
		w.add(at+"beta", true) // also a skill inside the folder of beta
		w.add(at+"beta/inner", true)
		for range 4 {
			path := at + w.pick("", "", "team/", "team/deep/") + w.pick("alpha", "beta", "gamma", "delta")
			if !slices.Contains(w.skills, path) {
				w.add(path, w.IntN(6) > 0)
			}
		}
	}
	w.vary()
	return w
}

func (w *world) pick(words ...string) string { return words[w.IntN(len(words))] }

// uri returns the path of a skill as it is in URIs. If there is only one root, it has no label.
func (w *world) uri(path string) string {
	if len(w.roots) > 1 {
		return path
	}
	return strings.TrimPrefix(path, "dir-1/")
}

func (w *world) add(path string, good bool) {
	w.skills = append(w.skills, path)
	name := filepath.Base(path)
	description := "description: Does " + w.pick("sailing", "baking", "mining") + " with word" + strings.ReplaceAll(path, "/", "x") + ". Use when asked.\n"
	if !good {
		description = ""
	}
	w.files[path+"/SKILL.md"] = "---\nname: " + name + "\n" + description + w.pick("", "disable-model-invocation: true\n", "metadata: {a: [b]}\n") + "---\n# " + name + "\n"
	w.files[path+"/notes.md"] = "Notes of " + path + ".\n"
}

// vary makes new random rules. Each pattern matches a skill, so that no rule is refused.
func (w *world) vary() {
	w.rules, w.open = nil, w.IntN(2) == 0
	if inner := w.pick(w.uri("dir-1/beta/inner"), w.uri(fmt.Sprintf("dir-%d/beta/inner", len(w.roots))), "**/inner"); w.IntN(2) == 0 {
		w.rules = append(w.rules, seenRule{to: w.pick("subjects: [anna], ", "groups: [crew], "), deny: true, globs: []string{inner}})
	}
	for range 2 + w.IntN(4) {
		r := seenRule{to: w.pick("", "subjects: [anna], ", "groups: [crew], ", "groups: [crew, other], "), deny: w.IntN(2) == 0}
		for range 1 + w.IntN(3) {
			path := w.pick(w.skills...)
			root, rest, _ := strings.Cut(path, "/")
			r.globs = append(r.globs, w.pick(w.uri(path), w.uri(path)+"/**", "**/"+filepath.Base(path), w.uri(root+"/**/"+filepath.Base(path)), w.uri(root+"/"+rest[:1]+"*/**")))
		}
		w.rules = append(w.rules, r)
	}
	w.rules = append(w.rules, seenRule{globs: []string{w.pick("**/anchor", "**", w.uri(fmt.Sprintf("dir-%d/*", 1+w.IntN(len(w.roots)))))}})
}

// settings returns a configuration with the rules of the world, or without rules.
func (w *world) settings(rules bool, tokens string) string {
	text := "limits: {rate: 0}\naccess:\n" + tokens
	if !rules {
		return text + "  default: allow\n  rules: []\n"
	}
	text += "  default: " + map[bool]string{true: "allow", false: "deny"}[w.open] + "\n  rules:\n"
	for _, r := range w.rules {
		text += fmt.Sprintf("    - {%s%s: [\"skill://%s\"]}\n", r.to, map[bool]string{true: "deny", false: "allow"}[r.deny], strings.Join(r.globs, `", "skill://`))
	}
	return text
}

// sees reports whether a subject sees a skill, by the rule of doc/configuration.md in its simplest
// form. A skill is also hidden if a skill below its folder is.
func (w *world) sees(subject, group, path string) bool {
	for _, other := range w.skills {
		if (other == path || strings.HasPrefix(other, path+"/")) && !w.seesAlone(subject, group, other) {
			return false
		}
	}
	return true
}

func (w *world) seesAlone(subject, group, path string) bool {
	seen := w.open
	for _, r := range w.rules {
		if r.to != "" && !(strings.HasPrefix(r.to, "subjects") && subject == "anna") && !(strings.HasPrefix(r.to, "groups") && strings.Contains(r.to, "crew") && group == "crew") {
			continue
		}
		for _, glob := range r.globs {
			switch matched := matchesGlob(strings.Split(glob, "/"), strings.Split(w.uri(path), "/")); {
			case matched && r.deny:
				return false
			case matched:
				seen = true
			}
		}
	}
	return seen
}

func matchesGlob(glob, path []string) bool {
	switch {
	case len(glob) == 0:
		return len(path) == 0
	case glob[0] == "**":
		return matchesGlob(glob[1:], path) || len(path) > 0 && matchesGlob(glob, path[1:])
	case len(path) == 0:
		return false
	}
	ok, _ := filepath.Match(glob[0], path[0])
	return ok && matchesGlob(glob[1:], path[1:])
}

// probes returns requests for every skill of the world in every way, whether or not it is visible.
func (w *world) probes() (all []probe) {
	for _, page := range []string{"/", "/?state=skipped", "/?state=problems", "/?state=shadowed", "/?q=sailing", "/?q=beta", "/health", "/api/v1/skills?limit=200", "/api/v1/skills?q=mining",
		"/api/v1/skills?state=fine", "/api/v1/skills?state=skipped", "/api/v1/problems", "/.well-known/agent-skills/index.json"} {
		all = append(all, probe{route: page, path: page})
	}
	add := func(method, params, name string) {
		all = append(all, probe{path: "/mcp", method: "POST", era: "2026-07-28", more: []string{"Mcp-Method: " + method, "Mcp-Name: " + name},
			body: fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"prober","version":"1"}}%s}}`, method, params)})
	}
	call := func(tool, arguments string) {
		add("tools/call", fmt.Sprintf(`,"name":%q,"arguments":%s`, tool, arguments), tool)
	}
	for _, list := range []string{"tools/list", "resources/list", "prompts/list", "skills/list", "server/discover"} {
		add(list, "", "")
	}
	for _, query := range []string{"sailing", "baking", "beta", "wordteam"} {
		call("find_skills", fmt.Sprintf(`{"query":%q}`, query))
	}
	for _, labelled := range w.skills {
		path := w.uri(labelled)
		// The other form of the path: with the label of the root, or without it.
		other := map[bool]string{true: labelled, false: labelled[len("dir-1/"):]}[path != labelled]
		for _, page := range []string{"/skills/" + other + "/", "/raw/" + other + "/notes.md", "/api/v1/skills/" + other} {
			all = append(all, probe{path: page})
		}
		add("resources/read", fmt.Sprintf(`,"uri":"skill://%s/SKILL.md"`, other), "skill://"+other+"/SKILL.md")
		call("skill", fmt.Sprintf(`{"name":"skill://%s/SKILL.md"}`, other))
		base, uri := filepath.Base(path), "skill://"+path
		for _, page := range []string{"/skills/" + path + "/", "/skills/" + path + "/?view=problems", "/skills/" + path + "/notes.md", "/raw/" + path + "/SKILL.md", "/raw/" + path + "/notes.md",
			"/api/v1/skills/" + path, "/api/v1/files/" + path + "/notes.md", "/api/v1/problems/" + path, "/?q=word" + strings.ReplaceAll(labelled, "/", "x")} {
			all = append(all, probe{path: page})
		}
		add("resources/read", fmt.Sprintf(`,"uri":"%s/SKILL.md"`, uri), uri+"/SKILL.md")
		add("resources/read", fmt.Sprintf(`,"uri":"%s/notes.md"`, uri), uri+"/notes.md")
		add("skills/get", fmt.Sprintf(`,"uri":"%s/SKILL.md"`, uri), uri+"/SKILL.md")
		add("resources/directory/read", fmt.Sprintf(`,"uri":%q`, uri), uri)
		for _, name := range []string{base, strings.ReplaceAll(path, "/", ":"), labelled[:5] + ":" + base, uri + "/SKILL.md"} {
			call("skill", fmt.Sprintf(`{"name":%q}`, name))
			add("prompts/get", fmt.Sprintf(`,"name":%q`, name), name)
		}
		call("find_skills", fmt.Sprintf(`{"query":"word%s"}`, strings.ReplaceAll(labelled, "/", "x")))
	}
	return all
}

// emptyRootRow matches the row of a root without skills on the health page.
var emptyRootRow = regexp.MustCompile(`<tr><th scope="row">[^<]*</th><td><code>[^<]*</code></td><td>[^<]*</td><td class="num">0</td><td>read</td></tr>\n\n`)

// TestSeesWhatIsLeft checks that a subject gets the same answers as from a server without the
// hidden skills, and without the roots that are then empty. Skills, roots, rules and reloads are
// random, and every surface is compared. Each skill has the name of its folder. Otherwise the URI
// of a visible skill could reveal that a hidden skill has the URI of its name, as
// doc/configuration.md says. KNACK_SEEDS is the number of random servers.
func TestSeesWhatIsLeft(t *testing.T) {
	testwait.Slow(t)
	names := map[string]string{"anna": "", "bert": "crew", "carl": ""}
	tokens, section := map[string]string{}, "  tokens:\n"
	for _, name := range slices.Sorted(maps.Keys(names)) {
		token, line := access.NewToken()
		tokens[name] = token
		section += fmt.Sprintf("    - {hash: %s, subject: %s, groups: [%s]}\n", line, name, names[name])
	}
	settle := func(t *testing.T, w *world, files map[string]string, file string) (base string, log func() string) {
		top := t.TempDir()
		args := []string{"serve", "--no-builtin", "--http", "0", "--config", file}
		for i, root := range w.roots {
			at := filepath.Join(top, root)
			if err := os.Mkdir(at, 0o755); err != nil {
				t.Fatal(err)
			}
			args = append(args, "--dir", at)
			for name, text := range files {
				if in, ok := strings.CutPrefix(name, fmt.Sprintf("dir-%d/", i+1)); ok {
					put(t, filepath.Join(at, in), text)
				}
			}
		}
		base, log = servingWith(t, args)
		return strings.TrimSuffix(base, "/mcp"), log
	}
	houseOf := func(t *testing.T, base string, log func() string) *house {
		return &house{surfer: newSurfer(t, base), dir: "\x00", log: log, sessions: map[string]string{}, cursors: map[string]string{}, tags: map[string]string{}}
	}
	hid := 0
	seeds := uint64(3)
	if n, err := strconv.ParseUint(os.Getenv("KNACK_SEEDS"), 10, 16); err == nil {
		seeds = n
	}
	for seed := range seeds {
		kind := [...]struct{ roots, states int }{{2, 2}, {1, 1}, {3, 1}, {3, 2}, {1, 2}, {2, 3}}[seed%6]
		w := newWorld(seed, kind.roots)
		file := filepath.Join(t.TempDir(), "knack.yaml")
		put(t, file, w.settings(true, section))
		base, log := settle(t, w, w.files, file)
		full := houseOf(t, base, log)
		for reload := range kind.states {
			if reload > 0 {
				w.vary()
				replace(t, file, w.settings(true, section))
				hangUp(t, full.log, "the settings and tokens were read again")
			}
			for name, group := range names {
				left := maps.Clone(w.files)
				for _, path := range w.skills {
					if !w.sees(name, group, path) {
						hid++
						for file := range left {
							if strings.HasPrefix(file, path+"/") && !slices.ContainsFunc(w.skills, func(in string) bool {
								return len(in) > len(path) && strings.HasPrefix(file, in+"/") && w.sees(name, group, in)
							}) {
								delete(left, file)
							}
						}
					}
				}
				t.Run(fmt.Sprint(seed, " ", reload, " ", name), func(t *testing.T) { // a separate server, which ends
					bare := filepath.Join(t.TempDir(), "knack.yaml")
					put(t, bare, w.settings(false, section))
					base, log := settle(t, w, left, bare)
					control := houseOf(t, base, log)
					r := role{name: name, known: true, headers: []string{"Authorization: Bearer " + tokens[name]}}
					for _, p := range w.probes() {
						got, want := full.send(r, p), control.send(r, p)
						if p.path == "/health" { // a root with no visible skills is not shown
							want = emptyRootRow.ReplaceAllString(want, "")
						}
						if diff := cmp.Diff(want, got); diff != "" {
							t.Fatalf("world %d after %d reloads, %s: %s (-a server without the rest, +this one)\n%s\nrules:\n%s", seed, reload, name, p, diff, w.settings(true, ""))
						}
					}
				})
			}
		}
	}
	if hid < 30 {
		t.Errorf("%d skills were hidden: too few to test anything", hid)
	}
}
