package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// TestRootErrorOfMissing checks that a --dir that vanishes between the check and the scan is an error,
// not a list without its skills.
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
