package approvecmd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

// TestStoredFiles checks that the bytes of approved files stay in the store, longer than a server
// keeps its releases.
func TestStoredFiles(t *testing.T) {
	home := t.TempDir()
	env := &console.Env{Home: home, Dir: home, Getenv: func(key string) string {
		return map[string]string{"XDG_CACHE_HOME": filepath.Join(home, "cache")}[key]
	}}
	given := settings.New(env, "")
	file := func(text string) skill.File {
		return skill.File{Path: "SKILL.md", Size: int64(len(text)), Digest: skill.DigestOf([]byte(text))}
	}
	for _, text := range []string{"approved", "other"} {
		if err := storeFiles(t.Context(), env, given, map[string]content{"SKILL.md": {data: []byte(text)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := pinFiles(env, given, "approvals.json", nil); err != nil {
		t.Error("nothing is approved:", err)
	}
	approved := [][]skill.File{{file("approved")}, {file("never stored")}, {file("approved")}}
	if err := pinFiles(env, given, "approvals.json", approved); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(filepath.Join(home, "cache", "knack"), store.Options{Keep: time.Hour, Now: func() time.Time { return time.Now().Add(48 * time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Collect(); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if all, err := storedFiles(env, given, "approvals.json", approved[0]); err != nil || string(all["SKILL.md"]) != "approved" {
		t.Errorf("%q, %v", all, err)
	}
	for _, files := range [][]skill.File{{file("other")}, approved[1]} {
		if all, err := storedFiles(env, given, "approvals.json", files); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q, %v", all, err)
		}
	}
	// A damaged file counts as missing.
	d := setInStore(approved[0])
	at := filepath.Join(s.Folder(d), "SKILL.md")
	if err := os.Chmod(at, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte("Approved"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := storedFiles(env, given, "approvals.json", approved[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("damaged %q, %v", all, err)
	}
}
