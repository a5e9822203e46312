package replica

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

// TestStore checks which store a server uses: the one named in the file of --config, or else in the
// user's file, even if a client starts the server with only --source.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	expect := func(config, want string) {
		t.Helper()
		env := console.Env{Dir: dir, Home: filepath.Join(dir, "home"), Getenv: func(string) string { return "" }}
		r, err := Open(Options{
			Env: env, Files: settings.New(&env, config), Flag: "oci://registry.example.com/acme/skills", Excluded: func(skill.Root) string { return "" }, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if got := r.store.Dir(); got != filepath.Join(dir, want) {
			t.Errorf("--config %q: the store is %s, not %s", config, got, want)
		}
	}
	expect("", "home/.cache/knack")
	put("home/.config/knack/knack.yaml", "store: {dir: /nowhere}\n")
	given := put("etc/server.yaml", "store: {dir: data}\n")
	expect(given, "etc/data")
	put("home/.config/knack/knack.yaml", "store: {dir: data}\n")
	expect("", "home/.config/knack/data")
}
