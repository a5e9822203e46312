package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestStartPaysForNoScan checks the start of a server whose configuration has no section scan. The
// packages that judge skills make their tables on first use, so that the start allocates at most 8
// KiB for all of them.
func TestStartPaysForNoScan(t *testing.T) {
	cmd := exec.Command(os.Args[0], "serve", "--dir", t.TempDir())
	home := t.TempDir()
	cmd.Env = append(os.Environ(), asKnack+"=1", "HOME="+home, "USERPROFILE="+home, "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	must(t, err)
	sum, seen := 0, 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 8 || words[0] != "init" {
			continue
		}
		if seen++; words[1] == "golang.org/x/net/html" {
			t.Errorf("tables of HTML: %s", line)
		}
		name, ok := strings.CutPrefix(words[1], "github.com/knack-dev/knack/")
		if !ok || !strings.HasPrefix(name, "scan") && !strings.HasPrefix(name, "approve") && !strings.HasPrefix(name, "internal/policy") && name != "internal/cli/approvecmd" {
			continue
		}
		bytes := 0
		_, err := fmt.Sscan(words[7], &bytes)
		must(t, err)
		sum += bytes
	}
	if sum > 8<<10 || seen < 10 {
		t.Errorf("%d bytes for the packages that judge, of %d in all\n%s", sum, seen, out)
	}
}
