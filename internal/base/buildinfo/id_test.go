package buildinfo

import (
	"os"
	"path/filepath"
	"testing"
)

// TestID checks that a build without a stamp is identified by the bytes of its executable.
func TestID(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := func(name, data string) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(data), 0o755); err != nil {
			t.Fatal(err)
		}
		return at
	}
	one, same, other := program("one", "program"), program("same", "program"), program("other", "Program")
	devel := Info{Version: "devel"}
	modified := Info{Version: "v1.2.3", Commit: "0123abc", Modified: true}
	for _, b := range []Info{devel, modified} {
		if a := b.id(one); a == "" || a != b.id(same) || a == b.id(other) {
			t.Errorf("%+v: one %q, the same bytes %q, others %q", b, a, b.id(same), b.id(other))
		}
		if got := b.id(filepath.Join(dir, "none")); got != "" {
			t.Errorf("%+v without an executable: %q", b, got)
		}
	}
	clean := Info{Version: "v1.2.3", Commit: "0123abc"}
	later := Info{Version: "v1.2.4", Commit: "4567def"}
	if a := clean.id("none"); a == "" || a == later.id("none") {
		t.Errorf("a stamp is not enough: %q, %q", a, later.id("none"))
	}
	if ID() == "" {
		t.Error("the running test has no id")
	}
}

func BenchmarkID(b *testing.B) {
	at, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if (Info{Version: "devel"}).id(at) == "" {
			b.Fatal("no id")
		}
	}
}
