//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/tool"
)

// baseDirectory matches the folder of a loaded skill, in the words of the tool set. No other folder
// is sent over HTTP, and it is sent only by a server that is only for the user of this machine.
var baseDirectory = regexp.MustCompile(`(?:Base directory|Path): [^\n"\\]*`)

// TestNoFolderGoesOut checks that no answer over HTTP contains the path of a folder on the server,
// which has canary in it. The test requests each route with each method, skills in each state, and
// roots that were read or not. Answers use the label of the root.
func TestNoFolderGoesOut(t *testing.T) {
	testwait.Slow(t)
	t.Parallel()
	t.Run("every set with tokens", func(t *testing.T) { seekFolders(t, "default,universal,runner,wave", true) })
	t.Run("every set with nothing", func(t *testing.T) { seekFolders(t, "default,universal,runner,wave", false) })
	t.Run("uri with tokens", func(t *testing.T) { seekFolders(t, "uri", true) })
}

func seekFolders(t *testing.T, set string, tokens bool) {
	top := filepath.Join(t.TempDir(), "canary-top")
	at := func(parts ...string) string { return filepath.Join(append([]string{top}, parts...)...) }
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	for _, files := range []map[string]string{openSkills, hiddenSkills} {
		for name, text := range files {
			put(t, at("canary-one", name), text)
		}
	}
	link := func(target string, path ...string) {
		must(os.MkdirAll(filepath.Dir(at(path...)), 0o755))
		must(os.Symlink(target, at(path...)))
	}
	// These skills are skipped, one for each kind of reason.
	broken := []string{"zqx-broken", "b-out", "b-dangling", "b-loop", "b-pipe", "b-folder", "b-large", "b-bytes", "b-yaml", "b-spelt", "b-fence"}
	put(t, at("canary-elsewhere", "SKILL.md"), "---\nname: b-out\ndescription: Outside.\n---\n")
	link(at("canary-elsewhere", "SKILL.md"), "canary-one", "b-out", "SKILL.md")
	link(at("canary-elsewhere", "none"), "canary-one", "b-dangling", "SKILL.md")
	link(at("canary-one", "b-loop", "SKILL.md"), "canary-one", "b-loop", "SKILL.md")
	must(os.MkdirAll(at("canary-one", "b-pipe"), 0o755))
	must(syscall.Mkfifo(at("canary-one", "b-pipe", "SKILL.md"), 0o644))
	must(os.MkdirAll(at("canary-one", "b-folder", "SKILL.md"), 0o755))
	put(t, at("canary-one", "b-large", "SKILL.md"), "---\nname: b-large\n---\n"+strings.Repeat("x", 2<<20))
	put(t, at("canary-one", "b-bytes", "SKILL.md"), "---\nname: b-bytes\xff\n---\n")
	put(t, at("canary-one", "b-yaml", "SKILL.md"), "---\nname: [b-yaml\n---\n")
	put(t, at("canary-one", "b-spelt", "sKiLl.md"), "---\nname: b-spelt\ndescription: d\n---\n")
	put(t, at("canary-one", "b-fence", "SKILL.md"), "name: b-fence\n")
	// These skills are served, with links and with findings of a scan.
	put(t, at("canary-one", "linking", "SKILL.md"), "---\nname: linking\ndescription: Links.\n---\n[out](../../SKILL.md) [in](out.md) [gone](gone.md)\n")
	link(at("canary-elsewhere", "SKILL.md"), "canary-one", "linking", "out.md")
	link(at("canary-elsewhere", "none"), "canary-one", "linking", "gone.md")
	link(at("canary-one", "linking"), "canary-one", "linking", "loop")
	put(t, at("canary-elsewhere", "followed", "SKILL.md"), "---\nname: followed\ndescription: Behind a link.\n---\n")
	link(at("canary-elsewhere", "followed"), "canary-one", "followed")
	link(at("canary-elsewhere", "nothing"), "canary-one", "leads-nowhere")
	link(at("canary-one", "open"), "canary-one", "again")
	put(t, at("canary-one", "near", "SKILLS.md"), "---\nname: near\ndescription: d\n---\n")
	put(t, at("canary-two", "open", "SKILL.md"), "---\nname: open\ndescription: Of the same name.\n---\n")
	put(t, at("canary-two", "twin", "SKILL.md"), openSkills["twin/SKILL.md"])
	put(t, at("canary-three", "gone", "SKILL.md"), "---\nname: gone\ndescription: Its root goes.\n---\n")

	tools, err := tool.ParseSets(set)
	must(err)
	token, line := access.NewToken()
	args := []string{"--dir", at("canary-one"), "--dir", at("canary-two"), "--dir", at("canary-three"), "--tools", set}
	config := at("canary-settings", "knack.yaml")
	put(t, config, "limits: {rate: 0}\n")
	args = append(args, "--config", config)
	r := role{name: "anyone", known: true}
	if tokens {
		put(t, at("canary-settings", "tokens"), line+" anna\n")
		args = append(args, "--token-file", at("canary-settings", "tokens"))
		r.headers = []string{"Authorization: Bearer " + token}
	}
	base, log := servingLog(t, args...)
	h := &house{surfer: newSurfer(t, strings.TrimSuffix(base, "/mcp")), dir: "\x00", log: log, sessions: map[string]string{}, cursors: map[string]string{}, tags: map[string]string{}}
	h.enter(r)

	in := func(p probe, old, now string) probe {
		p.path, p.body, p.more = strings.ReplaceAll(p.path, old, now), strings.ReplaceAll(p.body, old, now), slices.Clone(p.more)
		for i := range p.more {
			p.more[i] = strings.ReplaceAll(p.more[i], old, now)
		}
		return p
	}
	probes := slices.Concat(mcpProbes(tools), pageProbes())
	for _, p := range slices.Clone(probes) {
		// URIs contain the label of the root, and names may contain it.
		labelled := in(in(p, "skill://zqx", "skill://dir-1/zqx"), "/skills/zqx", "/skills/dir-1/zqx")
		probes = append(probes, in(in(in(labelled, "/raw/zqx", "/raw/dir-1/zqx"), "/files/zqx", "/files/dir-1/zqx"), "/problems/zqx", "/problems/dir-1/zqx"))
		if !strings.Contains(p.path+p.body, "zqx-broken") {
			continue
		}
		for _, name := range append(broken, "linking", "followed", "gone", "near", "twin", "dir-2:twin") {
			probes = append(probes, in(p, "zqx-broken", name), in(p, "zqx-broken", "dir-1/"+name))
		}
	}
	seen := map[string]bool{"dir-1/b-out": false, "dir-1/linking": false, "dir-2/twin": false, "dir-3": false, "b-large": false}
	look := func() {
		h.story = "/health/none"
		for _, story := range regexp.MustCompile(`/health/skipped-[0-9a-f]+`).FindAllString(h.ask("GET", "/?state=skipped", "", r.headers...).body, -1) {
			probes = append(probes, probe{route: "/health/", path: story})
		}
		for _, p := range probes {
			answer := h.send(r, p)
			if !tokens {
				answer = baseDirectory.ReplaceAllString(answer, "")
			}
			for word := range seen {
				seen[word] = seen[word] || strings.Contains(answer, word)
			}
			if i := strings.Index(answer, "canary"); i >= 0 {
				t.Errorf("%s names a folder: …%s…", p, answer[max(0, i-150):min(len(answer), i+100)])
			}
		}
	}
	look()
	must(os.Rename(at("canary-three"), at("canary-away")))
	testwait.Until(t, func() bool {
		return strings.Contains(h.ask("GET", "/health", "", r.headers...).body, "there is no such folder")
	}, "the page that says that a root is gone")
	look()
	if where := at("canary-one", "b-yaml", "SKILL.md"); !strings.Contains(log(), where) {
		t.Errorf("the log does not say where: no %s in\n%s", where, log())
	}
	for word, ok := range seen {
		if !ok {
			t.Errorf("no answer has %s: the test tests nothing", word)
		}
	}
}
