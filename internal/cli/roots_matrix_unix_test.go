//go:build unix

package cli_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// marks are texts in an answer that show which skills of the matrix it contains.
var marks = []string{"For everybody", "For people", "Not published", "The first of this name", "See [it]", "zqx", "zqxword"}

// rootCount matches the metric for the number of skills in the root that a client sees.
var rootCount = regexp.MustCompile(`knack_root_skills\{root="(?:acme|dir-[12])"\} [0-9]+`)

// shows returns the marks in an answer. Marks that are also in the request do not count.
func shows(p probe, answer string) string {
	var found []string
	for _, mark := range marks {
		if strings.Contains(answer, mark) && !strings.Contains(p.String(), mark) {
			found = append(found, mark)
		}
	}
	return strings.Join(append(found, rootCount.FindAllString(answer, -1)...), ", ")
}

// below returns a probe for the same skills in the root with the given label.
func (p probe) below(label string) probe {
	in := strings.NewReplacer("skill://zqx", "skill://"+label+"/zqx", "skill://open", "skill://"+label+"/open", `"value":"zqx`, `"value":"`+label+"/zqx", "dir-1", label)
	p.body = in.Replace(p.body)
	for i, one := range p.more {
		p.more[i] = in.Replace(one)
	}
	for _, at := range []string{"/api/v1/skills/", "/api/v1/files/", "/api/v1/problems/", "/skills/", "/raw/", "/zip/"} {
		if rest, ok := strings.CutPrefix(p.path, at); ok {
			p.path = at + label + "/" + rest
			break
		}
	}
	p.path = strings.ReplaceAll(p.path, "root=dir-1", "root="+label)
	return p
}

// placedProbes returns the probes of the matrix for skills in a root with the given label. It
// leaves out probes for a part of a list, which depends on the other roots.
func placedProbes(t *testing.T, label string) (all []probe) {
	t.Helper()
	tools, err := tool.ParseSets("default,universal,runner,wave")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range slices.Concat(mcpProbes(tools), pageProbes()) {
		if text := p.String(); !strings.Contains(text, `limit`) && !strings.Contains(text, "page=2") {
			all = append(all, p.below(label))
		}
	}
	return all
}

// serving starts a server, and opens a session for each role.
func serving(t *testing.T, roles []role, args ...string) *house {
	t.Helper()
	base, log := servingLog(t, append([]string{"--tools", "default,universal,runner,wave"}, args...)...)
	h := &house{surfer: newSurfer(t, strings.TrimSuffix(base, "/mcp")), dir: "/nowhere", log: log, sessions: map[string]string{}, story: "/health/none"}
	for _, r := range roles {
		h.enter(r)
	}
	return h
}

// members returns the access section of a configuration with the given rules, and two roles.
// Insiders see all skills, and outsiders only the skills that the rules do not hide.
func members(rules string) (section string, roles []role) {
	section = "limits: {rate: 0}\naccess:\n  default: allow\n  tokens:\n"
	for _, name := range []string{"insider", "outsider"} {
		token, hash := access.NewToken()
		section += fmt.Sprintf("    - {hash: %s, subject: %s, groups: [%ss]}\n", hash, name, name)
		roles = append(roles, role{name: name, headers: []string{"Authorization: Bearer " + token}, known: true})
	}
	return section + "  rules:\n    - {groups: [outsiders], deny: [" + rules + "]}\n", roles
}

// grow writes the skills of the matrix below a folder, with other roots beside it. The first of
// these has skills with the same names and folders as the hidden ones.
func grow(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, some := range []map[string]string{openSkills, hiddenSkills} {
		for name, text := range some {
			put(t, filepath.Join(dir, "acme", name), text)
		}
	}
	for _, at := range []string{"tools/hammer", "tools/deep/saw", "lab/flask", "lab/open-flask"} {
		put(t, filepath.Join(dir, at, "SKILL.md"), "---\nname: "+filepath.Base(at)+"\ndescription: Another root.\n---\n")
	}
	time.Sleep(skill.StampRacy) // no event reports that a file has aged
	return dir
}

// TestRootsShowTheSame checks every surface of servers that have the same rules, and one root or
// three in any order. Each answer must show the same skills of the root that the rules name, and no
// hidden skills.
func TestRootsShowTheSame(t *testing.T) {
	testwait.Slow(t)
	dir := grow(t)
	section, roles := members(`"skill://acme/zqx*/**", "skill://acme/around/**"`)
	probes := placedProbes(t, "acme")
	var first map[string]string
	for _, order := range []string{"acme", "acme tools lab", "lab tools acme", "tools acme lab"} {
		roots := "roots:\n"
		for label := range strings.FieldsSeq(order) {
			roots += "  - {dir: " + label + ", label: " + label + ", title: The " + label + "}\n"
		}
		file := filepath.Join(dir, strings.ReplaceAll(order, " ", "-")+".yaml")
		put(t, file, roots+section)
		h := serving(t, roles, "--config", file)
		got, bare := map[string]string{}, map[string]bool{}
		for _, r := range roles {
			for _, p := range probes {
				found := shows(p, h.send(r, p))
				if r.name == "outsider" && strings.Contains(found, "zqxword") {
					t.Errorf("%s: %s shows what is hidden: %s", order, p, found)
				}
				got[r.name+": "+p.String()] = found
				bare[p.route] = bare[p.route] || found != ""
			}
		}
		if first == nil {
			first = got
			for _, route := range []string{"/{$}", "/skills/", "/raw/", "/zip/", "/api/v1/skills", "/api/v1/skills/", "/api/v1/files/", "/.well-known/agent-skills/index.json", "mcp resources/read", "mcp prompts/get", "tool skill", "tool find_skills", "mcp tools/list"} {
				if route != "/zip/" && !bare[route] { // an archive is compressed
					t.Errorf("%s shows nothing: the test tests nothing", route)
				}
			}
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(first)) {
			if got[key] != first[key] {
				t.Errorf("%s: %s\nshows %q, and with one root %q", order, key, got[key], first[key])
			}
		}
	}
}

// TestSecondDirOpensNothing checks every surface of a server with a second --dir, before or after
// the first. No answer may show a skill that the same rules hide if there is only the first.
func TestSecondDirOpensNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("thousands of requests")
	}
	dir := grow(t)
	section, roles := members(`"skill://**/zqx*/**", "skill://**/around/**"`)
	file := filepath.Join(dir, "knack.yaml")
	put(t, file, section)
	for label, dirs := range map[string][]string{"": {"acme"}, "dir-1": {"acme", "tools"}, "dir-2": {"tools", "acme"}} {
		args := []string{"--config", file}
		for _, one := range dirs {
			args = append(args, "--dir", filepath.Join(dir, one))
		}
		h := serving(t, roles, args...)
		probes := placedProbes(t, "dir-1")
		if label != "" {
			probes = placedProbes(t, label)
		}
		seen := false
		for _, p := range probes {
			if found := shows(p, h.send(roles[1], p)); strings.Contains(found, "zqxword") {
				t.Errorf("%v: %s shows what is hidden: %s", dirs, p, found)
			}
			seen = seen || strings.Contains(shows(p, h.send(roles[0], p)), "zqxword")
		}
		if !seen {
			t.Errorf("%v: nobody sees anything: the test tests nothing", dirs)
		}
	}
}
