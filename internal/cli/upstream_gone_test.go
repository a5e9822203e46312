package cli_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skillsext"
)

// TestUpstreamsGone starts a server that follows another server, a site, a release and a
// repository. It ends all of them, and starts the server again over stdio and over HTTP. It checks
// that every file is served with the same digest as before.
func TestUpstreamsGone(t *testing.T) {
	t.Parallel()
	write := func(dir, name string) {
		put(t, filepath.Join(dir, name, "SKILL.md"), "---\nname: "+name+"\ndescription: Use "+name+".\n---\nOf "+name+".\n")
		put(t, filepath.Join(dir, name, "scripts", "run.sh"), "echo "+name+"\n")
	}
	ups := map[string]*server{}
	for _, name := range []string{"peer", "site"} {
		home := t.TempDir()
		write(filepath.Join(home, "skills"), name)
		ups[name] = follow(t, home, "roots: [{dir: skills, label: own}]\n")
	}
	registry := registrytest.Start(t)
	registrytest.Release(t, registry.Host, "acme/skills", "prod", 1, registrytest.Skills{"pdf/SKILL.md": registrytest.Skill("pdf", "One.")}, nil)
	repository := filepath.Join(t.TempDir(), "repository")
	write(repository, "docx")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a"}} {
		if out, err := exec.Command("git", append([]string{"-C", repository}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", args, err, out)
		}
	}
	sources := fmt.Sprintf(`poll: 1s
sources:
  - {name: peer, from: 'mcp:http://%s/mcp'}
  - {name: site, from: 'http://%s'}
  - {name: release, from: 'oci://%s/acme/skills:prod'}
  - {name: repository, from: 'git+file://%s'}
`, ups["peer"].address, ups["site"].address, registry.Host, filepath.ToSlash(repository))
	settings := sources + "store: {dir: STORE}\n"
	served := t.TempDir()
	p := newPerson(t, sources)

	// overHTTP returns the digests of the served files by URI, and of the site's index.
	overHTTP := func(s *server) map[string]string {
		found := map[string]string{}
		client, err := skillsext.Dial(t.Context(), "test", "http://"+s.address+"/mcp", http.DefaultClient)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Session.Close()
		for k, err := range client.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range k.Resources.List() {
				if _, err := client.Read(t.Context(), k, r.URI); err != nil {
					t.Error(err)
				}
				found[r.URI] = r.Digest
			}
		}
		_, found["index"] = s.get("/.well-known/agent-skills/index.json")
		return found
	}
	overStdio := func() map[string]string {
		found := map[string]string{}
		var list struct {
			Result struct {
				Skills []struct {
					Resources []struct{ URI, Digest string }
				}
			}
		}
		if err := json.Unmarshal([]byte(p.ask("skills/list", "{}")), &list); err != nil {
			t.Fatal(err)
		}
		for _, k := range list.Result.Skills {
			for _, r := range k.Resources {
				var file struct {
					Result struct{ Contents []struct{ Text string } }
				}
				answer := p.ask("resources/read", `{"uri":"`+r.URI+`"}`)
				if err := json.Unmarshal([]byte(answer), &file); err != nil || len(file.Result.Contents) != 1 || skill.DigestOf([]byte(file.Result.Contents[0].Text)).String() != r.Digest {
					t.Errorf("%s: %s", r.URI, answer)
				}
				found[r.URI] = r.Digest
			}
		}
		found["list"] = p.run("list", "--no-builtin")
		return found
	}
	s := follow(t, served, settings)
	s.shows("/readyz", "ok")
	p.serve()
	p.loads("peer", "Of peer.")
	p.loads("pdf", "One.")
	p.loads("docx", "Of docx.")
	p.loads("site", "Of site.")
	testwait.Until(t, func() bool { return len(overHTTP(s)) == 8 }, "all files", s.log.String)
	wantHTTP, wantStdio := overHTTP(s), overStdio()
	if len(wantStdio) != 9 { // also has the user's own skill
		t.Error(wantStdio)
	}

	s.stop()
	p.stop()
	ups["peer"].stop()
	ups["site"].stop()
	registry.Stop()
	if err := os.Rename(repository, repository+"-gone"); err != nil {
		t.Fatal(err)
	}
	s = follow(t, served, settings)
	p.serve()
	for round := range 2 { // before the first failed poll and after it
		if got := overHTTP(s); !maps.Equal(got, wantHTTP) {
			t.Errorf("%d: HTTP: %v, want %v", round, got, wantHTTP)
		}
		if got := overStdio(); !maps.Equal(got, wantStdio) {
			t.Errorf("%d: stdio: %v, want %v", round, got, wantStdio)
		}
		if code, body := s.get("/readyz"); code != http.StatusOK {
			t.Error(body)
		}
		for _, name := range []string{"peer", "site", "release", "repository"} {
			testwait.Until(t, func() bool {
				return strings.Contains(s.log.String(), "source="+name+" ") && strings.Contains(s.log.String(), "cannot be asked")
			}, name, s.log.String)
		}
	}
	s.stop()
}
