package mcpserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTranscriptsSayResultType checks that every result of 2026-07-28 has a resultType, and no
// result of an older version. It reads the transcripts, which have an answer of each kind.
func TestTranscriptsSayResultType(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	must(t, err)
	results := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(t, err)
		modern := strings.Contains(filepath.Base(file), "2026-07-28")
		for line := range strings.Lines(string(data)) {
			if !strings.HasPrefix(line, "< ") || !strings.Contains(line, `"result":{`) {
				continue
			}
			results++
			if strings.Contains(line, `"resultType":"complete"`) != modern {
				t.Errorf("%s: %.200s", file, line)
			}
		}
	}
	if results < 50 {
		t.Errorf("only %d results", results)
	}
}
