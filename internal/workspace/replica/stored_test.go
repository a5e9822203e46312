package replica_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/listing"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/origin/folder"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/workspace/replica"
)

// TestOf checks the stored state of three sources: one that a server has served, one that it
// never had, and one whose release is lost.
func TestOf(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		file := filepath.Join(dir, "skills", name, "SKILL.md")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("---\nname: "+name+"\ndescription: Use for "+name+".\n---\nDo it.\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := filepath.Join(dir, "store")
	shelf, err := store.Open(at, store.Options{Setting: "store.dir"})
	if err != nil {
		t.Fatal(err)
	}
	puller := &pull.Puller{Store: shelf, Origins: func(origin.Kind) (origin.Origin, error) { return folder.Origin{}, nil }}
	since := time.Date(2026, 11, 23, 6, 7, 8, 0, time.UTC)
	releases := map[string]string{}
	for _, from := range []string{"./skills", "./skills/one"} {
		ref, err := origin.Parse(from, dir, dir)
		if err != nil {
			t.Fatal(err)
		}
		revision, err := puller.Resolve(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := puller.Pull(t.Context(), ref, revision)
		if err != nil {
			t.Fatal(err)
		}
		if err := shelf.SetHead(ref.String(), store.Head{Release: r.Digest, Since: since}); err != nil {
			t.Fatal(err)
		}
		releases[from] = r.Digest
	}
	if err := os.Remove(filepath.Join(at, "releases", strings.TrimPrefix(releases["./skills/one"], "sha256:")+".json")); err != nil {
		t.Fatal(err)
	}
	var states []doctor.Followed
	for _, from := range []string{"./skills", "oci://registry.example.com/acme/skills:prod", "./skills/one"} {
		ref, err := origin.Parse(from, dir, dir)
		if err != nil {
			t.Fatal(err)
		}
		state, rel := replica.Of(shelf, ref.String())
		if rel.Digest != state.Release {
			t.Errorf("%s: the release %s", from, rel.Digest)
		}
		state.From, state.Name = from, "acme"
		states = append(states, state)
	}
	if err := shelf.Close(); err != nil {
		t.Fatal(err)
	}
	const fix = "the next 'knack serve' with these settings fetches it; a client starts one"
	want := []doctor.Followed{
		{Name: "acme", From: "./skills", Release: releases["./skills"], Since: &since, Skills: 2},
		{Name: "acme", From: "oci://registry.example.com/acme/skills:prod", Error: "nothing of it is here yet", Fix: fix},
		{Name: "acme", From: "./skills/one", Error: "nothing of it is here yet", Fix: fix},
	}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	states[0].Version, states[0].Signature, states[0].Signer = "1.4.0", "signed", "key:ab12cd34ef56ab12"
	var text strings.Builder
	listing.PrintFollowed((&console.Env{Stdout: &text}).Out(), states[:2])
	wanted := "sources, as the store has them\n  acme (./skills): 2 skills, version 1.4.0, " + releases["./skills"][:19] + ", signed by key:ab12cd34ef56, served since 2026-11-23 06:07:08 UTC\n" +
		"  acme (oci://registry.example.com/acme/skills:prod): nothing of it is here yet (" + fix + ")\n"
	if diff := cmp.Diff(wanted, text.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
