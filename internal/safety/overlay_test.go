//go:build linux

package safety

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// overlaid writes the changed files and the list of them that the go command takes with
// -overlay. A change whose text is not exactly once in its file is an error: the code has
// changed, and the change must follow.
func overlaid(dir string, changes []change) (string, error) {
	if len(changes) == 0 {
		return "", nil
	}
	replace, text := map[string]string{}, map[string]string{}
	for i, c := range changes {
		path := filepath.Join(moduleDir(), filepath.FromSlash(c.file))
		if rest, ok := strings.CutPrefix(c.file, "std:"); ok {
			root, err := exec.Command("go", "env", "GOROOT").Output()
			if err != nil {
				return "", err
			}
			path = filepath.Join(strings.TrimSpace(string(root)), "src", filepath.FromSlash(rest))
		}
		if text[path] == "" {
			data, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			text[path] = string(data)
		}
		if n := strings.Count(text[path], c.from); n != 1 {
			return "", fmt.Errorf("%s holds %d times, not once: %s", c.file, n, c.from)
		}
		text[path] = strings.Replace(text[path], c.from, c.to, 1)
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(replace[path], []byte(text[path]), 0o644); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, data, 0o644)
}

// TestVariantsApply checks that the changes fit the code, without building anything.
func TestVariantsApply(t *testing.T) {
	for _, p := range properties() {
		for _, part := range p.parts {
			for _, v := range part.broken {
				if _, err := overlaid(t.TempDir(), v.changes); err != nil {
					t.Errorf("%s/%s/%s: %v", p.name, part.name, v.name, err)
				}
			}
		}
	}
}
