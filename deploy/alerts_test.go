package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAlerts has Prometheus check deploy/alerts.yaml, and evaluate each alert on figures for which
// it fires and on others for which it does not. It also checks that doc/operating.md has each
// metric of an alert, and doc/fleet.md each alert.
func TestAlerts(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no promtool; .ci/programs installs it")
		}
		t.Skip("no promtool; .ci/programs installs it")
	}
	rules, err := os.ReadFile("alerts.yaml")
	must(t, err)
	figures, err := os.ReadFile("testdata/alerts.yaml")
	must(t, err)
	said := func(rules string, args ...string) (string, error) {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "alerts.yaml"), rules)
		put(t, filepath.Join(dir, "figures.yaml"), string(figures))
		cmd := exec.CommandContext(t.Context(), "promtool", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := said(string(rules), "check", "rules", "alerts.yaml"); err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, out)
	}
	if out, err := said(string(rules), "test", "rules", "figures.yaml"); err != nil {
		t.Errorf("promtool test rules: %v\n%s", err, out)
	}
	// Prometheus notices each of these mistakes.
	for from, to := range map[string]string{
		"expr: up{": "expr: up(", "> 900": "> 9000", "== 1\n": "== 0\n", "(source, digest)": "(source)", "knack_complete == 0": "knack_complete == 1", "for: 2m": "for: 20m",
	} {
		if out, err := said(strings.Replace(string(rules), from, to, 1), "test", "rules", "figures.yaml"); err == nil {
			t.Errorf("%s in place of %s is not noticed: %s", to, from, out)
		}
	}
	page, err := os.ReadFile("../doc/operating.md")
	must(t, err)
	for _, name := range regexp.MustCompile(`knack_\w+`).FindAllString(string(rules), -1) {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("%s is not in doc/operating.md", name)
		}
	}
	fleet, err := os.ReadFile("../doc/fleet.md")
	must(t, err)
	for _, alert := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		if !strings.Contains(string(figures), "alertname: "+alert[1]) {
			t.Errorf("%s has no figures", alert[1])
		}
		if !strings.Contains(string(fleet), "| `"+alert[1]+"` | ") {
			t.Errorf("doc/fleet.md does not say what to do about %s", alert[1])
		}
	}
}
