// Package corpus finds, for tests, the corpus of real skills, which is no part of the project.
package corpus

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the absolute path of a part of the corpus, a file or a folder. The environment
// variable KNACK_CORPUS names the corpus: Dir skips the test if it is not set, and fails the
// test if the part is not there.
func Dir(t testing.TB, part ...string) string {
	t.Helper()
	at := os.Getenv("KNACK_CORPUS")
	if at == "" {
		t.Skip("no corpus of real skills: KNACK_CORPUS names its folder")
	}
	at, err := filepath.Abs(filepath.Join(append([]string{at}, part...)...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(at); err != nil {
		t.Fatalf("KNACK_CORPUS names no corpus of real skills: %v", err)
	}
	return at
}
