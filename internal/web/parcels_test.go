package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/distribution/archive"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// discovered returns the addresses of the index's archives, by name.
func discovered(t *testing.T, f *fixture) map[string]string {
	t.Helper()
	var index struct {
		Skills []struct{ Name, Type, URL, Digest string }
	}
	must(t, json.Unmarshal([]byte(f.get("/.well-known/agent-skills/index.json").body), &index))
	archives := map[string]string{}
	for _, s := range index.Skills {
		if s.Type == "archive" {
			archives[s.Name] = s.URL
		}
	}
	return archives
}

// TestParcels checks that two servers with the same files offer the same archive, that it has all
// files and no others, and that another state of the skill has another address.
func TestParcels(t *testing.T) {
	laid := map[string]string{
		"one/pdf/SKILL.md": "---\nname: pdf\ndescription: Reads.\n---\n", "one/pdf/ref/a.md": "\r\n", "one/pdf/run.sh": "#!/bin/sh\n", "one/pdf/.env": "hidden", "one/pdf/empty": "",
		"one/alone/SKILL.md": "---\nname: alone\ndescription: One.\n---\n", "one/alone/.env": "hidden",
	}
	var bodies []string
	for range 2 {
		f := open(t, laid)
		must(t, os.Chmod(filepath.Join(f.dir, "one/pdf/run.sh"), 0o755))
		archives := discovered(t, f)
		if len(archives) != 1 {
			t.Fatal(archives)
		}
		at := archives["pdf"]
		got := f.get(at)
		if want := "/.well-known/agent-skills/pdf/" + strings.TrimPrefix(skill.DigestOf([]byte(got.body)).String(), "sha256:") + ".tar.gz"; got.status != 200 || at != want {
			t.Errorf("%s is %d, want %s", at, got.status, want)
		}
		bodies = append(bodies, got.body)
		for _, other := range []string{strings.Replace(at, "pdf/", "pdf/0", 1), strings.Replace(at, "/pdf/", "/alone/", 1), strings.Replace(at, "/pdf/", "/none/", 1), "/.well-known/agent-skills/pdf/run.sh", "/.well-known/agent-skills/pdf/.tar.gz"} {
			if got := f.get(other); got.status != 404 {
				t.Errorf("%s is %d", other, got.status)
			}
		}
	}
	if bodies[0] != bodies[1] {
		t.Error("two servers have two archives")
	}
	var packed []string
	r := bytes.NewReader([]byte(bodies[0]))
	err := archive.Walk(t.Context(), r, r.Size(), func(e origin.Node, content io.Reader) error {
		data, err := io.ReadAll(content)
		packed = append(packed, fmt.Sprintf("%s %t %q", e.Path, e.Type == origin.Exec, data))
		return err
	})
	if diff := cmp.Diff([]string{`SKILL.md false "---\nname: pdf\ndescription: Reads.\n---\n"`, `empty false ""`, `ref/a.md false "\r\n"`, `run.sh true "#!/bin/sh\n"`}, packed); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestParcelChanges checks that an archive is no longer served after a change of a file beside
// SKILL.md, which snapshots do not track, and that the next index has the new archive.
func TestParcelChanges(t *testing.T) {
	f := open(t, map[string]string{"one/pdf/SKILL.md": "---\nname: pdf\ndescription: Reads.\n---\n", "one/pdf/a": "1"})
	before := discovered(t, f)["pdf"]
	lay(t, f.dir, map[string]string{"one/pdf/a": "another"})
	if got := f.get(before); got.status != 404 || !strings.Contains(got.body, "read the index again") {
		t.Errorf("the old archive: %d %s", got.status, got.body)
	}
	lay(t, f.dir, map[string]string{"one/more/SKILL.md": "---\nname: more\ndescription: One.\n---\n"})
	if err := f.catalog.Refresh(t.Context()); err != nil { // the index of a new snapshot is new
		t.Fatal(err)
	}
	after := discovered(t, f)["pdf"]
	if got := f.get(after); got.status != 200 || after == before {
		t.Errorf("%s, then %s: %d", before, after, got.status)
	}
}

// TestParcelRules checks that a rule that hides a skill hides its archive.
func TestParcelRules(t *testing.T) {
	f := open(t, map[string]string{"one/pdf/SKILL.md": "---\nname: pdf\ndescription: Reads.\n---\n", "one/pdf/a": "1"})
	at := discovered(t, f)["pdf"]
	deny, err := access.ParsePattern("skill://one/pdf")
	must(t, err)
	none := catalog.WithFilter(t.Context(), access.NewPolicy(true, []access.Rule{{Deny: []access.Pattern{deny}}}).Filter(access.Subject{}))
	for address, want := range map[string]int{at: 404, "/.well-known/agent-skills/index.json": 200} {
		w := httptest.NewRecorder()
		f.site.ServeHTTP(w, httptest.NewRequestWithContext(none, "GET", address, nil))
		if w.Code != want || strings.Contains(w.Body.String(), "pdf") {
			t.Errorf("%s: %d %s", address, w.Code, w.Body)
		}
	}
}
