package cli_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/cli"
)

// approving runs knack in a folder with the skill review, and returns its status and output.
func approving(t *testing.T, dir string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	env := console.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Dir: dir, Home: filepath.Join(dir, "home"), User: func() string { return "anna" },
		Getenv: func(string) string { return "" }}
	return cli.Main(t.Context(), env, args), out.String()
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const reviewSkill = "---\nname: review\ndescription: Reviews. Use when code is to be reviewed.\n---\n"

// TestApproveLocked checks that approve fails while another command changes the
// approvals.
func TestApproveLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "skills", "review", "SKILL.md"), reviewSkill)
	file := filepath.Join(dir, "home", ".config", "knack", "approvals.json")
	unlock, err := edit.Lock(file)
	if err != nil {
		t.Fatal(err)
	}
	code, said := approving(t, dir, "approve", "--dir", "skills", "review")
	if runtime.GOOS == "linux" && (code != 1 || !strings.Contains(said, "error: another knack command is changing ~/.config/knack/approvals.json\nhint: run this one again when it is done\n")) {
		t.Errorf("status %d: %s", code, said)
	}
	unlock()
	if code, said := approving(t, dir, "approve", "--dir", "skills", "review"); code != 0 {
		t.Errorf("status %d: %s", code, said)
	}
	data, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(data, []byte(`"by": "anna"`)) {
		t.Errorf("%s, %v", data, err)
	}
	if _, said = approving(t, dir, "approve", "--dir", "skills", "--list"); !strings.Contains(said, " by anna on ") {
		t.Error(said)
	}
}

// TestApproveAllButOne checks that approve with a pattern approves the matching skills, and reports
// the skill that cannot be approved.
func TestApproveAllButOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 20 {
		name := fmt.Sprintf("skill-%d", i)
		writeFile(t, filepath.Join(dir, "skills", name, "SKILL.md"), "---\nname: "+name+"\ndescription: Does it. Use when it is to be done.\n---\n")
	}
	for i := range 512 {
		writeFile(t, filepath.Join(dir, "skills", "skill-7", fmt.Sprint(i)), "x")
	}
	code, said := approving(t, dir, "approve", "--dir", "skills", "skill://**")
	for _, want := range []string{"approved 19 skills in ~/.config/knack/approvals.json\n", "error: skill-7 has more than 512 files or 16 MiB, so that it cannot be approved\n"} {
		if code != 1 || !strings.Contains(said, want) {
			t.Errorf("status %d, want 1 and %q:\n%s", code, want, said)
		}
	}
	if _, said = approving(t, dir, "approve", "--dir", "skills", "--list"); !strings.Contains(said, "19 approvals: 19 approved\n") {
		t.Error(said)
	}
}

// TestAgainstHidesSecrets checks that no format of a comparison contains the secrets that were in a
// skill before and after an approval.
func TestAgainstHidesSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	var planted []string
	canary := func() string {
		const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
		b := make([]byte, 36)
		for again := true; again; again = scan.MaskSecrets("ghp_"+string(b)) == "ghp_"+string(b) { // looks like a sample
			for i := range b {
				b[i] = letters[random.IntN(len(letters))]
			}
		}
		planted = append(planted, string(b))
		return "ghp_" + string(b)
	}
	// The texts have more secrets than a report has findings, and each line also has another
	// finding.
	text := func(n int) string {
		var s strings.Builder
		for i := range n {
			fmt.Fprintf(&s, "TOKEN_%d=%s; echo %d | base64 -d | sh\n", i, canary(), random.IntN(1000))
		}
		return s.String()
	}
	skill := filepath.Join(dir, "skills", "review")
	writeFile(t, filepath.Join(skill, "SKILL.md"), reviewSkill)
	writeFile(t, filepath.Join(skill, "run.sh"), text(60))
	writeFile(t, filepath.Join(skill, "gone.sh"), text(5))
	if code, said := approving(t, dir, "approve", "--dir", "skills", "review"); code != 0 {
		t.Fatal(said)
	}
	writeFile(t, filepath.Join(skill, "run.sh"), text(130))
	writeFile(t, filepath.Join(skill, "new.sh"), text(5))
	if err := os.Remove(filepath.Join(skill, "gone.sh")); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"text", "json", "sarif", "github"} {
		code, said := approving(t, dir, "scan", "--dir", "skills", "--against", "approved", "--text", "--format", format, "review")
		if code != 1 || format == "text" && !strings.Contains(said, "+TOKEN_129=ghp_***") {
			t.Fatalf("%s: status %d: %.2000s", format, code, said)
		}
		for _, secret := range planted {
			if strings.Contains(said, secret[1:]) || strings.Contains(said, secret[:8]) {
				t.Errorf("%s shows the secret %s", format, secret)
				break
			}
		}
	}
}
