// Package corpus finds, for tests, the corpus of real skills, which is not part of the
// project.
package corpus

import (
	"os"
	"path/filepath"
	"testing"
)

// beside is the path of the corpus, relative to the module's folder, if KNACK_CORPUS is not set.
const beside = "../shared/corpus"

// Dir returns the absolute path of a part of the corpus, a file or a folder. With -short, or
// without a corpus, it skips the test. In continuous integration, which always has a corpus, a
// missing one fails the test.
func Dir(t testing.TB, part ...string) string {
	t.Helper()
	at := Find()
	switch {
	case testing.Short():
		t.Skip("hundreds of real skills take a while")
	case at == "" && os.Getenv("CI") != "":
		t.Fatalf("no corpus of real skills at %s, and this is continuous integration: set KNACK_CORPUS to its folder", beside)
	case at == "":
		t.Skip("no corpus of real skills: set KNACK_CORPUS to its folder")
	}
	at = filepath.Join(append([]string{at}, part...)...)
	if _, err := os.Stat(at); err != nil {
		t.Fatalf("the corpus of real skills lacks a part: %v", err)
	}
	return at
}

// Find returns the absolute path of the corpus, or "" without one. The corpus is the folder that
// the environment variable KNACK_CORPUS names, or else the folder beside the module.
func Find() string {
	if at := os.Getenv("KNACK_CORPUS"); at != "" {
		at, _ = filepath.Abs(at)
		return at
	}
	module, err := os.Getwd() // a test runs in its package's folder
	if err != nil {
		return ""
	}
	for !exists(filepath.Join(module, "go.mod")) {
		if module == filepath.Dir(module) {
			return ""
		}
		module = filepath.Dir(module)
	}
	if at := filepath.Join(module, filepath.FromSlash(beside)); exists(at) {
		return at
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
