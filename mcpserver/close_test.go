package mcpserver

import (
	"runtime"
	"testing"
	"weak"

	"github.com/knack-dev/knack/catalog"
)

// TestServerCloses checks that a catalogue no longer refers to a server that is closed.
func TestServerCloses(t *testing.T) {
	skills := catalog.New(nil, catalog.Options{})
	s := New(Options{Catalog: skills})
	pointer := weak.Make(s)
	s.Close()
	runtime.GC()
	if pointer.Value() != nil {
		t.Error("the catalogue still has the server")
	}
	runtime.KeepAlive(skills)
}
