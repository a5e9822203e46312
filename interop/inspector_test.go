package interop

import (
	"fmt"
	"strings"
	"testing"
)

const inspector = packages + "inspector/clients/launcher/build/index.js"

// inspect runs the Inspector, which reads and verifies every file of every skill.
func inspect(t *testing.T, transport, era, binary, url string, tree *tree) ran {
	t.Helper()
	program := node(t, "inspector")
	args := []string{inspector, "--cli"}
	if transport == web {
		args = append(args, url, "--transport", "http")
	} else {
		args = append(append(append(args, binary), tree.args()...), "--transport", "stdio")
	}
	args = append(args, "--method", "skills/list", "--verify", "--require-digests", "--protocol-era", era,
		"--skill-catalog-max-skills", "5000", "--skill-catalog-max-bytes", "1000000000")
	return start(t, program, args...)
}

// TestInteropInspector checks that the Inspector finds every published skill of every tree
// conformant, and reports the right numbers of skills and files.
func TestInteropInspector(t *testing.T) {
	t.Parallel()
	node(t, "inspector")
	binary := knack(t)
	for _, tree := range trees(t) {
		url := tree.http(t)
		tree.combinations(func(transport, version string) {
			era := map[string]string{legacy: "legacy", modern: "modern"}[version]
			r := inspect(t, transport, era, binary, url, tree)
			result := fmt.Sprintf("%d skills, %d files verified", tree.skills, tree.files)
			want := fmt.Sprintf("Verified %d skills and %d files: no conformance errors.", tree.skills, tree.files)
			if r.code != 0 || !strings.Contains(r.stderr, want) || strings.Count(r.stdout, `"outcome":"verified"`) != tree.skills {
				t.Errorf("%s, %s, %s: exit status %d, %d verified, want %q: %s", tree.name, transport, era, r.code,
					strings.Count(r.stdout, `"outcome":"verified"`), want, tail(r.stderr))
			}
			matrix.cell(t, "skills", "Inspector", transport, version, tree.name, result)
		})
	}
}

// tail returns the end of a client's output.
func tail(s string) string { return s[max(0, len(s)-2000):] }
