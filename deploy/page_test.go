//go:build linux

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// fleetPage returns the text of doc/fleet.md.
func fleetPage(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../doc/fleet.md")
	must(t, err)
	return string(data)
}

// TestFleetPage follows doc/fleet.md. It publishes and signs as the page describes, and starts a
// replica with the settings of the page. With the commands of the table, it then tries a release,
// rolls it out, rolls it back, and copies releases between registries.
func TestFleetPage(t *testing.T) {
	testwait.Slow(t)
	binary := knack(t)
	if _, err := exec.LookPath("openssl"); err != nil && os.Getenv("CI") == "" {
		t.Skip("no openssl; .ci/programs installs it")
	}
	t.Parallel()
	page := fleetPage(t)
	production, staging := registrytest.Start(t), registrytest.Start(t)
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	must(t, os.Symlink(binary, filepath.Join(dir, "bin", "knack")))
	put(t, filepath.Join(dir, "skills", "one", "SKILL.md"), skillMD("one"))
	put(t, filepath.Join(dir, "skills", "two", "SKILL.md"), skillMD("two"))
	here := strings.NewReplacer("registry.example.com", production.Host, "staging.example.com", staging.Host, "oci://…/skills", "oci://"+production.Host+"/acme/skills")
	shell := func(commands string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", here.Replace(commands))
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + dir, "PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	run := func(commands string) string {
		t.Helper()
		out, err := shell(commands)
		if err != nil {
			t.Fatalf("%s: %v\n%s", commands, err, out)
		}
		return out
	}
	digestIn := func(out string) string {
		t.Helper()
		digest := regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(out)
		if digest == "" {
			t.Fatalf("no digest in %s", out)
		}
		return digest
	}
	// command returns the command of a row of the table.
	command := func(row string) string {
		t.Helper()
		_, rest, ok := strings.Cut(page, "\n| "+row)
		line, _, _ := strings.Cut(rest, "\n")
		command := regexp.MustCompile("`(knack publish [^`]*)`").FindStringSubmatch(line)
		if !ok || command == nil {
			t.Fatalf("the page has no command to %s", row)
		}
		return command[1]
	}

	_, section, _ := strings.Cut(page, "\n## Publish a release\n")
	section, rest, _ := strings.Cut(section, "\n## Follow it\n")
	var said []string
	for _, block := range strings.Split(section, "```sh\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		said = append(said, run(block))
	}
	if len(said) != 3 {
		t.Fatalf("the section has %d blocks", len(said))
	}
	t.Logf("%s", strings.Join(said, ""))
	if !strings.Contains(said[2], "signature  by key:") {
		t.Errorf("the release is not signed: %s", said[2])
	}
	first := digestIn(said[2])

	_, settings, _ := strings.Cut(rest, "```yaml\n")
	settings, _, _ = strings.Cut(settings, "```")
	r := newReplica(t, "./none", "")
	public, err := os.ReadFile(filepath.Join(dir, "acme.pub"))
	must(t, err)
	put(t, filepath.Join(r.dir, "acme.pub"), string(public))
	put(t, filepath.Join(r.dir, "knack.yaml"), here.Replace(strings.NewReplacer("/var/lib/knack/store", "state/store", "poll: 30s", "poll: 1s").Replace(settings))+"audit: {to: audit.log}\n")
	r.start()
	r.ready()
	r.serves(first)
	canary := newReplica(t, "./none", "")
	put(t, filepath.Join(canary.dir, "knack.yaml"), "sources: [{name: acme, from: 'oci://"+production.Host+"/acme/skills:canary'}]\nstore: {dir: state/store}\npoll: 1s\naudit: {to: audit.log}\n")
	canary.start()

	// A release with another skill goes to the canary first, and then to all replicas.
	put(t, filepath.Join(dir, "skills", "three", "SKILL.md"), skillMD("three"))
	second := digestIn(run("knack publish --json ./skills oci://registry.example.com/acme/skills:1.5.0 --sign-key acme.key"))
	run(command("try a release with some users"))
	canary.ready()
	canary.serves(second)
	if !strings.Contains(metrics(r), first) {
		t.Error("the others have the canary's release")
	}
	run(command("give it to everyone"))
	r.serves(second)

	// With forward-only, only a higher version rolls back.
	run(command("roll back, without `forward-only`"))
	refused := `knack_source_refused{source="acme",reason="version"}`
	testwait.Until(t, func() bool { return metric(r, refused) == 1 }, "the lower version is not refused", r.said)
	if !strings.Contains(metrics(r), second) {
		t.Error("the lower version is served")
	}
	if _, health := r.get("/health"); !strings.Contains(health, "1.4.0") || !strings.Contains(health, "refused") {
		t.Error("the health page does not say what is refused")
	}
	// The same holds after a restart, since the store records the version.
	r.end()
	r.start()
	r.ready()
	testwait.Until(t, func() bool { return metric(r, refused) == 1 }, "the lower version is not refused after a restart", r.said)
	must(t, os.RemoveAll(filepath.Join(dir, "skills", "three")))
	third := digestIn(run("knack publish --json ./skills oci://registry.example.com/acme/skills --tag 1.6.0 --tag prod --sign-key acme.key"))
	must(t, r.cmd.Process.Signal(syscall.SIGHUP))
	r.serves(third)
	if metric(r, refused) != 0 {
		t.Error("the release is still refused")
	}

	// An unsigned release is refused, and a copy in another registry keeps digest and signature.
	unsigned := digestIn(run("knack publish --json ./skills oci://registry.example.com/acme/skills --tag 1.7.0 --tag prod"))
	if unsigned != third {
		testwait.Until(t, func() bool { return metric(r, `knack_source_refused{source="acme",reason="signature"}`) == 1 }, "a release without a signature is not refused", r.said)
	}
	run("knack publish ./skills oci://staging.example.com/acme/skills:1.5.0 --sign-key acme.key")
	at := digestIn(run("knack verify oci://staging.example.com/acme/skills:1.5.0"))
	run(command("move a release from staging to production"))
	if out := run("knack verify --config trust.yaml oci://registry.example.com/acme/skills:1.5.0"); digestIn(out) != at || !strings.Contains(out, "signature  by key:") {
		t.Errorf("from staging, with the digest %s: %s", at, out)
	}
	for _, want := range []string{"pull", "swap", "refuse"} {
		found := false
		for _, a := range r.actions() {
			found = found || a.Method == want
		}
		if !found {
			t.Errorf("the audit log has no %s", want)
		}
	}
}

// metrics returns the text of a replica's metrics.
func metrics(r *replica) string {
	r.Helper()
	_, text := r.get("/metrics")
	return text
}
