package skillsext

import (
	"os/exec"
	"testing"
)

// TestUpstreamHasNoSkills fails when the SDK has a package for the extension (go-sdk#1238).
func TestUpstreamHasNoSkills(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "go", "list", "-find", "github.com/modelcontextprotocol/go-sdk/skills").CombinedOutput(); err == nil {
		t.Errorf("upstream has a package for the extension: skillsext may become an import: %s", out)
	}
}
