package distcmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
	"github.com/knack-dev/knack/internal/distribution/archive"
	"github.com/knack-dev/knack/skill"
)

// changing is a site with an index of skills, which a test changes.
type changing struct {
	t        *testing.T
	server   *httptest.Server
	skills   map[string]map[string]string // maps a skill to its files
	lie      string                       // the skill whose archive does not match the index
	requests atomic.Int32
}

func newChanging(t *testing.T) *changing {
	s := &changing{t: t, skills: map[string]map[string]string{}}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

func (s *changing) packed(name string) []byte {
	var b bytes.Buffer
	w := archive.NewWriter(&b)
	for _, file := range []string{"SKILL.md", "run.sh"} {
		if err := w.Add(file, file == "run.sh", []byte(s.skills[name][file])); err != nil {
			s.t.Error(err)
		}
	}
	_ = w.Close()
	return b.Bytes()
}

func (s *changing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	const at = "/.well-known/agent-skills/"
	if r.URL.Path == at+"index.json" {
		var list []map[string]string
		for name := range s.skills {
			list = append(list, map[string]string{"name": name, "type": "archive", "description": "d", "url": name + ".tgz", "digest": skill.DigestOf(s.packed(name)).String()})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json", "skills": list})
		return
	}
	name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, at), ".tgz")
	if s.skills[name] == nil {
		http.NotFound(w, r)
		return
	}
	data := s.packed(name)
	if s.lie == name {
		data[len(data)/2] ^= 1
	}
	_, _ = w.Write(data)
}

// project runs knack in the folder of a project.
type project struct {
	t         *testing.T
	dir, home string
}

func newProject(t *testing.T) project {
	p := project{t, t.TempDir(), t.TempDir()}
	if err := os.Mkdir(filepath.Join(p.dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

// knack runs a command, and checks its status and a part of its output.
func (p project) knack(status int, says string, args ...string) {
	p.t.Helper()
	var out bytes.Buffer
	env := console.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, Dir: p.dir, Home: p.home}
	if got := cli.Main(p.t.Context(), env, args); got != status || !strings.Contains(out.String(), says) {
		p.t.Errorf("knack %s: status %d, want %d and %q:\n%s", strings.Join(args, " "), got, status, says, out.String())
	}
}

// tree returns the contents of the files in the project, and a text with their inodes and times.
func (p project) tree() (files map[string]string, stamps string) {
	p.t.Helper()
	files = map[string]string{}
	err := filepath.WalkDir(p.dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(at)
		below, _ := filepath.Rel(p.dir, at)
		files[filepath.ToSlash(below)] = string(data)
		info, _ := e.Info()
		stamps += fmt.Sprintf("%s %v\n", below, skill.StampOf(info))
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return files, stamps
}

func files(name, more string) map[string]string {
	return map[string]string{"SKILL.md": "---\nname: " + name + "\ndescription: Does " + name + ".\n---\n" + more, "run.sh": "#!/bin/sh\n"}
}

// TestSite checks that add installs skills from a site with an index. Update then changes only the
// skills that changed on the site, and sync restores deleted skills without the site.
func TestSite(t *testing.T) {
	s, p := newChanging(t), newProject(t)
	s.skills["pdf"], s.skills["xlsx"] = files("pdf", ""), files("xlsx", "")
	p.knack(1, "has 2 skills", "add", s.server.URL)
	p.knack(0, "added pdf", "add", s.server.URL, "--skill", "pdf")
	p.knack(0, "added xlsx", "add", s.server.URL, "--all")
	p.knack(0, "", "verify")
	before, stamps := p.tree()
	for _, quiet := range [][]string{{"update"}, {"sync"}, {"add", s.server.URL, "--all"}, {"update", "--check"}} {
		p.knack(0, "", quiet...)
		if _, now := p.tree(); now != stamps {
			t.Errorf("knack %v has written without news:\n%s%s", quiet, stamps, now)
		}
	}

	s.skills["other"] = files("other", "") // a skill that is not installed
	p.knack(0, "", "update", "--check")
	p.knack(0, "", "update")
	if now, _ := p.tree(); cmp.Diff(before[".agents/skills/pdf/SKILL.md"], now[".agents/skills/pdf/SKILL.md"]) != "" {
		t.Error("another skill of the site has changed an installed one")
	}
	s.skills["pdf"] = files("pdf", "More.\n")
	p.knack(1, "pdf", "update", "--check")
	p.knack(0, "updated pdf", "update")
	now, _ := p.tree()
	if !strings.HasSuffix(now[".agents/skills/pdf/SKILL.md"], "More.\n") || now[".agents/skills/xlsx/SKILL.md"] != before[".agents/skills/xlsx/SKILL.md"] {
		t.Errorf("after the update: %v", now)
	}

	// Installed skills stay if the site sends wrong bytes, no longer has a skill, or is gone.
	installed, _ := p.tree()
	s.skills["pdf"], s.lie = files("pdf", "Yet more.\n"), "pdf"
	p.knack(3, "other bytes than the index says", "update")
	s.lie = ""
	delete(s.skills, "pdf")
	p.knack(0, "gone pdf", "update")
	s.server.Close()
	p.knack(3, "", "update")
	for name, text := range installed {
		if now, _ := p.tree(); now[name] != text && name != "knack.lock" {
			t.Errorf("%s has changed", name)
		}
	}
	if err := os.RemoveAll(filepath.Join(p.dir, ".agents")); err != nil {
		t.Fatal(err)
	}
	asked := s.requests.Load()
	p.knack(0, "", "sync", "--offline")
	if back, _ := p.tree(); cmp.Diff(installed[".agents/skills/pdf/SKILL.md"], back[".agents/skills/pdf/SKILL.md"]) != "" || s.requests.Load() != asked {
		t.Errorf("restored %v, the site was asked %d times", back, s.requests.Load()-asked)
	}
}

// TestSyncChangedSite checks that sync restores only locked content, even if the site now has other
// content.
func TestSyncChangedSite(t *testing.T) {
	s, p := newChanging(t), newProject(t)
	s.skills["pdf"], s.skills["xlsx"] = files("pdf", ""), files("xlsx", "")
	p.knack(0, "added pdf", "add", s.server.URL, "--all")
	before, _ := p.tree()
	s.skills["pdf"] = files("pdf", "More.\n")
	for _, gone := range []string{filepath.Join(p.dir, ".agents"), filepath.Join(p.home, ".cache")} {
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
	}
	p.knack(3, "no longer has the files that the lock names", "sync")
	delete(before, ".agents/skills/pdf/SKILL.md")
	delete(before, ".agents/skills/pdf/run.sh")
	if now, _ := p.tree(); cmp.Diff(before, now) != "" {
		t.Error(cmp.Diff(before, now))
	}
}
