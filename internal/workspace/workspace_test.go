package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/builtin"
)

// TestRootErrorOfMissing checks that a --dir that disappears between the check and the scan is an
// error, not an empty list.
func TestRootErrorOfMissing(t *testing.T) {
	env := &console.Env{Dir: t.TempDir(), Home: t.TempDir()}
	at := filepath.Join(env.Dir, "gone")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := Open(Options{Env: env, Dirs: []string{"gone"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	_, err = w.View(t.Context())
	if f := (*settings.Error)(nil); !errors.As(err, &f) || f.Usage || f.Error() != "--dir gone: there is no such folder" || f.Hint == "" {
		t.Errorf("%v", err)
	}
}

// TestSourcesThatStay checks that the followed source and the built-in source are the same values
// after the projects have changed, with or without a policy, so that the catalogue keeps what it
// knows of them.
func TestSourcesThatStay(t *testing.T) {
	for _, policy := range []string{"", "scan: {mode: enforce}\n"} {
		env := &console.Env{Dir: t.TempDir(), Home: t.TempDir()}
		text := "sources: [{name: acme, from: ./acme}]\n" + policy
		if err := os.WriteFile(filepath.Join(env.Dir, "knack.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		w, err := Open(Options{Env: env, Config: "knack.yaml", Patience: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := w.Serve(Serving{}); err != nil {
			t.Fatal(err)
		}
		later := w.sourcesOf(w.layoutOf(w.files, []string{t.TempDir()}), false)
		for _, s := range w.sources {
			if label := s.Root().Label; (label == "acme" || label == builtin.Label) && !slices.Contains(later, s) {
				t.Errorf("policy %q: the source %s is another one", policy, label)
			}
		}
		if len(w.sources) != 2 {
			t.Errorf("policy %q: %d sources", policy, len(w.sources))
		}
	}
}

// TestFixOverHTTP checks that the fix of a skill that is not approved has the flags of the server,
// and over HTTP, where clients on other machines may read it, no path.
func TestFixOverHTTP(t *testing.T) {
	for address, want := range map[string]string{"": "knack approve SKILL --project p --dir d --below --config etc/knack.yaml", "127.0.0.1:0": "knack approve SKILL --project DIR --dir DIR --below --config FILE"} {
		env := &console.Env{Dir: t.TempDir(), Home: t.TempDir(), Config: "etc/knack.yaml", Project: "p", Dirs: []string{"d"}, Below: true, Takes: func(string, string) bool { return true }}
		for name, text := range map[string]string{"etc/knack.yaml": "roots: [{label: s, dir: ../s}]\nscan: {approve: ['skill://**']}\n", "s/a/SKILL.md": "---\nname: a\ndescription: Use a.\n---\n"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(env.Dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(env.Dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		w, err := Open(Options{Env: env, Config: env.Config, HTTP: address})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := w.Serve(Serving{}); err != nil {
			t.Fatal(err)
		}
		if err := w.catalog.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, err := w.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e := v.InFolder("a")
		if e == nil || e.Fault() == nil {
			t.Fatalf("%q: %+v is not held back", address, e)
		}
		if _, fix := skill.FileReason(e.Fault()); !strings.Contains(fix, want) || address != "" && strings.Contains(fix, "knack.yaml") {
			t.Errorf("%q: the fix is %q, want %q and over HTTP no path", address, fix, want)
		}
	}
}
