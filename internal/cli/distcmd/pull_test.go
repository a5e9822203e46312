package distcmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/test/registrytest"
)

func TestPull(t *testing.T) {
	r := registrytest.Start(t)
	skills := registrytest.Skills{}
	for i := range 20 {
		name := fmt.Sprint("s", i)
		skills[name+"/SKILL.md"] = registrytest.Skill(name, "1")
	}
	version := func(v string) map[string]string {
		return map[string]string{"org.opencontainers.image.version": v}
	}
	first := registrytest.Release(t, r.Host, "acme/skills", "prod", 4, skills, version("1.0.0"))
	source := "oci://" + r.Host + "/acme/skills:prod"
	s := newShell(t)
	expect := func(want, wantErr string, wantStatus int, args ...string) {
		t.Helper()
		stdout, stderr, status := s.run(append([]string{"pull"}, args...)...)
		want = strings.NewReplacer("SOURCE", source, "HOST", r.Host).Replace(want)
		wantErr = strings.NewReplacer("SOURCE", source, "HOST", r.Host).Replace(wantErr)
		if status != wantStatus || !strings.HasPrefix(stdout, want) || want == "" && stdout != "" || !strings.Contains(stdout+stderr, wantErr) {
			t.Errorf("pull %s: status %d\n%s%s\nwant\n%s%s", args, status, stdout, stderr, want, wantErr)
		}
	}
	expect("", "the store has no release of SOURCE\nrun the command once without --offline", 1, source, "--offline")
	expect("would pull SOURCE: 1.0.0, 4 of 4 layers, ", "", 0, source, "--dry-run")
	if _, err := os.Stat(filepath.Join(s.dir, "home", ".cache", "knack", "skills")); err == nil {
		t.Error("a dry run wrote into the store")
	}
	expect("pulled SOURCE: 1.0.0, 20 skills, 4 of 4 layers, ", " kB, "+first[:19]+"\n", 0, source)
	expect("unchanged: SOURCE: 1.0.0, 20 skills, "+first[:19]+"\n", "", 0, source)
	expect("unchanged: SOURCE: 1.0.0, 20 skills, "+first[:19]+"\n", "", 0, source, "--offline")

	skills["s7/SKILL.md"] = registrytest.Skill("s7", "2")
	delete(skills, "s8/SKILL.md")
	second := registrytest.Release(t, r.Host, "acme/skills", "prod", 4, skills, version("1.1.0"))
	expect("pulled SOURCE: 1.1.0, 19 skills, 1 changed, 1 removed, ", "", 0, source)
	stdout, _, _ := s.run("pull", source, "--json")
	var got pulledJSON
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || !got.Unchanged || got.Release != second || got.Skills != 19 || got.Layers != 4 || got.Fetched != 0 || got.Source != source {
		t.Errorf("%v %s", err, stdout)
	}

	to := filepath.Join(s.dir, "out", "skills")
	expect("unchanged: SOURCE: 1.1.0, 19 skills, "+second[:19]+"\nwould unpack into ", "", 0, source, "--to", to, "--dry-run")
	expect("unchanged: SOURCE: 1.1.0, 19 skills, "+second[:19]+"\nunpacked into ", "", 0, source, "--to", to)
	for _, hinted := range []struct{ to, want string }{{"", " --source " + source}, {to, " --dir " + to}} {
		if _, stderr, _ := s.run("pull", source, "--to="+hinted.to); stderr != "hint: serve it with knack serve"+hinted.want+"\n" {
			t.Errorf("%q", stderr)
		}
	}
	stdout, stderr, status := s.run("verify", "--project", to)
	if status != 0 || !strings.Contains(stdout, "19 skills") {
		t.Errorf("verify: status %d: %s%s", status, stdout, stderr)
	}
	s.put("out/.git/HEAD", "") // as if the release was pulled into a repository
	if stdout, stderr, status = s.run("verify", "--project", to); status != 0 || !strings.Contains(stdout, "19 skills") {
		t.Errorf("verify in a repository: status %d: %s%s", status, stdout, stderr)
	}
	s.put("out/skills/s7/SKILL.md", "mine")
	expect("", "out/skills has 1 file that knack did not write there, or that was changed since: 's7/SKILL.md'", 1, source, "--to", to)

	expect("", "HOST/acme/skills has no tag 'none'", 3, "oci://"+r.Host+"/acme/skills:none")
	expect("", "./skills for a folder here", 2, "x")
	s.put("p/near/pdf/SKILL.md", "mine")
	expect("", "write ./near for the one in this folder", 2, "near")
	r.Stop()
	expect("", "connection refused", 3, source)
	stdout, _, status = s.run("pull", source, "--json")
	got = pulledJSON{}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != 3 || got.Status != 3 || !strings.Contains(got.Reason, "connection refused") {
		t.Errorf("%v %s", err, stdout)
	}
	expect("unchanged: SOURCE: 1.1.0", "", 0, source, "--offline")
}

// TestPullStore checks that pull uses the same store as a server: the store in the file of
// --config, or the store in the user's own file.
func TestPullStore(t *testing.T) {
	r := registrytest.Start(t)
	registrytest.Release(t, r.Host, "a/b", "prod", 1, registrytest.Skills{"pdf/SKILL.md": registrytest.Skill("pdf", "1")}, nil)
	source := "oci://" + r.Host + "/a/b:prod"
	for name, c := range map[string]struct{ own, given, want string }{
		"no file":        {"", "", "home/.cache/knack"},
		"own":            {"store: {dir: ../../shelf}\n", "", "home/shelf"},
		"given":          {"", "store: {dir: data}\n", "etc/data"},
		"given, not own": {"store: {dir: ../../shelf}\n", "poll: 30s\n", "home/.cache/knack"},
	} {
		s := newShell(t)
		args := []string{"pull", source}
		if c.own != "" {
			s.put("home/.config/knack/knack.yaml", c.own)
		}
		if c.given != "" {
			s.put("etc/server.yaml", c.given)
			args = append(args, "--config", "../etc/server.yaml")
		}
		if stdout, stderr, status := s.run(args...); status != 0 {
			t.Errorf("%s: status %d: %s%s", name, status, stdout, stderr)
		}
		for _, at := range []string{"home/.cache/knack", "home/shelf", "etc/data"} {
			if _, err := os.Stat(filepath.Join(s.dir, at, "skills")); (err == nil) != (at == c.want) {
				t.Errorf("%s: %s: %v", name, at, err)
			}
		}
		if stdout, _, status := s.run(append(args, "--offline")...); status != 0 || !strings.HasPrefix(stdout, "unchanged: ") {
			t.Errorf("%s, offline: status %d: %s", name, status, stdout)
		}
	}
}

// TestPullBesideServer checks that pull keeps the record of the versions that a server has served.
// If the record is damaged, pull changes nothing: otherwise a server with forward-only would forget
// the highest version.
func TestPullBesideServer(t *testing.T) {
	r := registrytest.Start(t)
	release := func(version string) {
		registrytest.Release(t, r.Host, "a/b", "prod", 1, registrytest.Skills{"pdf/SKILL.md": registrytest.Skill("pdf", version)}, map[string]string{"org.opencontainers.image.version": version})
	}
	source := "oci://" + r.Host + "/a/b:prod"
	s := newShell(t)
	pull := func(want int, flags ...string) string {
		t.Helper()
		stdout, stderr, status := s.run(append([]string{"pull", source}, flags...)...)
		if status != want {
			t.Fatalf("pull %s: status %d: %s%s", flags, status, stdout, stderr)
		}
		return stderr
	}
	release("1.4.0")
	pull(0)
	shelf, err := store.Open(filepath.Join(s.dir, "home", ".cache", "knack"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer shelf.Close()
	h, err := shelf.Head(source)
	if err != nil {
		t.Fatal(err)
	}
	h.Highest = map[string]string{"": "1.4.0"} // as a server writes it
	if err := shelf.SetHead(source, h); err != nil {
		t.Fatal(err)
	}
	release("1.3.0")
	for _, flag := range []string{"", "--dry-run"} {
		if said := pull(1, strings.Fields(flag)...); !strings.Contains(said, "the version 1.3.0 is lower than 1.4.0, which was pulled or served before: --allow-downgrade takes it") {
			t.Errorf("%s: %s", flag, said)
		}
	}
	s.put("home/.config/knack/knack.yaml", "sources:\n  - {name: a, from: \"oci://"+strings.Replace(r.Host, ":", ":0", 1)+"/a/b:prod\", forward-only: true}\n")
	if said := pull(1, "--allow-downgrade"); !strings.Contains(said, "which was served before, and forward-only is set") {
		t.Error(said)
	}
	if h, err = shelf.Head(source); err != nil || h.Version != "1.4.0" {
		t.Fatalf("%+v, %v", h, err)
	}
	s.put("home/.config/knack/knack.yaml", "")
	pull(0, "--allow-downgrade")
	if h, err = shelf.Head(source); err != nil || h.Version != "1.3.0" || h.Highest[""] != "1.4.0" {
		t.Fatalf("%+v, %v", h, err)
	}
	heads, err := filepath.Glob(filepath.Join(shelf.Dir(), "heads", "*"))
	if err != nil || len(heads) != 1 {
		t.Fatal(heads, err)
	}
	damaged := []byte("damaged")
	if err := os.WriteFile(heads[0], damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"", "--dry-run", "--offline"} {
		if said, want := pull(3, strings.Fields(flag)...), "remove heads/"+filepath.Base(heads[0])+" to begin anew"; !strings.Contains(said, want) {
			t.Errorf("%s: %s does not say %q", flag, said, want)
		}
	}
	if data, err := os.ReadFile(heads[0]); err != nil || !bytes.Equal(data, damaged) {
		t.Errorf("the head is now %q, %v", data, err)
	}
	if err := os.Remove(heads[0]); err != nil {
		t.Fatal(err)
	}
	pull(0)
}

// TestPullProgress checks that the progress line of pull shows the received layers and bytes.
func TestPullProgress(t *testing.T) {
	r := &pull.Report{Layers: 64, Done: 41, Bytes: 6_100_000, Total: 9_300_000}
	if got, want := strings.Join(progressOf(r), "|"), "41 of 64 layers|6.1 of 9.3 MB"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if progressOf(&pull.Report{}) != nil || progressOf(nil) != nil {
		t.Error("it knows how far it is")
	}
}

// TestGettingProgress checks that the progress of a download is in bytes, and the progress of other
// work in steps.
func TestGettingProgress(t *testing.T) {
	var p progress
	if got := p.text(); got != "getting skills" {
		t.Errorf("%q", got)
	}
	for want, set := range map[string]amount{
		"getting skills: 6.1 of 9.3 MB":      {origin.Bytes, 6_100_000, 9_300_000},
		"getting skills: 6.1 MB":             {origin.Bytes, 6_100_000, 0},
		"getting skills: 12 of 4,000 files":  {origin.Files, 12, 4000},
		"getting skills: 12 of 4,000 skills": {origin.Skills, 12, 4000},
		"getting skills: 12 skills":          {origin.Skills, 12, 0},
	} {
		p.set(set.unit, set.done, set.total)
		if got := p.text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestPullJSON checks that doc/pull.md lists each field of the JSON object.
func TestPullJSON(t *testing.T) {
	page, err := os.ReadFile("../../../doc/pull.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[pulledJSON]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("doc/pull.md does not list `%s`", name)
		}
	}
}
