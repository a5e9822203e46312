//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/knack-dev/knack/access"
)

const unitFile = "../../deploy/knack.service"

// unit returns the text of the systemd unit, with the given program in place of the installed one.
func unit(t *testing.T, program string) string {
	t.Helper()
	data, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	const installed = "/usr/local/bin/knack "
	if strings.Count(string(data), "\nExecStart="+installed) != 1 {
		t.Fatalf("the unit does not start %sonce", installed)
	}
	return strings.ReplaceAll(string(data), installed, program+" ")
}

// TestServiceUnit checks that systemd accepts the unit, and rates its exposure as low.
func TestServiceUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze; on Debian: apt-get install systemd")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "knack.service")
	put(t, file, unit(t, self))
	run := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), analyze, append(args, file)...).CombinedOutput()
		return string(out), err
	}
	// systemd-analyze only warns about unknown settings, so the output must be empty.
	if out, err := run("verify", "--man=no"); err != nil || out != "" {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	if out, err := run("security", "--offline=yes", "--no-pager", "--threshold=15"); err != nil {
		t.Errorf("the unit is more exposed than 1.5 of 10: %v\n%s", err, out)
	}
}

// TestServiceIsClosed checks that the unit has the promised settings. It needs no systemd.
func TestServiceIsClosed(t *testing.T) {
	text := unit(t, "knack")
	for _, line := range []string{
		"DynamicUser=yes", "ProtectSystem=strict", "ProtectHome=yes", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "LogsDirectory=knack", "StateDirectory=knack",
		"RestrictAddressFamilies=AF_INET AF_INET6", "SystemCallFilter=@system-service", "MemoryDenyWriteExecute=yes", "ExecReload=/bin/kill -HUP $MAINPID",
		"ExecStartPre=knack config check /etc/knack/knack.yaml", "ExecReload=knack config check /etc/knack/knack.yaml",
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the unit lacks %s", line)
		}
	}
}

// TestServiceStarts checks that the unit's command line starts a server with minimal settings and
// an audit log. config check must find no fault in the settings.
func TestServiceStarts(t *testing.T) {
	_, line, _ := strings.Cut(unit(t, "knack"), "ExecStart=knack serve ")
	line, _, _ = strings.Cut(line, "\n")
	dir := t.TempDir()
	file, log := filepath.Join(dir, "knack.yaml"), filepath.Join(dir, "audit.log")
	data, err := os.ReadFile("../../deploy/knack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	token, hash := access.NewToken()
	settings := regexp.MustCompile(`sha256:[0-9a-f]{64}`).ReplaceAllString(string(data), hash)
	put(t, file, strings.Replace(settings, "0.0.0.0:8080", "0.0.0.0:0", 1)+"audit: {to: audit.log}\nlog: {format: json}\n")
	if out, _, code := ran(t, dir, "config", "check", file); code != 0 || !strings.HasSuffix(out, ": nothing is wrong\n") {
		t.Errorf("config check: %d %s", code, out)
	}
	args := strings.Fields(strings.NewReplacer("/etc/knack/knack.yaml", file, "/srv/skills", skills(t)).Replace(line))
	url, _ := servingWith(t, append([]string{"serve"}, args...))
	if code, out, errs := check(t, token, url); code != 0 || !strings.Contains(out, "0 findings") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if info, err := os.Stat(log); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}
