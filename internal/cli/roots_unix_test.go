//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestReloadKeepsRoots checks that a reload does not apply rules for roots that the server does not
// serve yet. Hidden skills must stay hidden, and the log must give the line of the rule.
func TestReloadKeepsRoots(t *testing.T) {
	dir := t.TempDir()
	for _, at := range []string{"acme/open", "acme/vault/a", "tools/open", "tools/vault/a", "more/x"} {
		put(t, filepath.Join(dir, at, "SKILL.md"), "---\nname: "+filepath.Base(at)+"\ndescription: One.\n---\n")
	}
	file := filepath.Join(dir, "knack.yaml")
	text := func(roots, rules string) string {
		out := "roots:\n"
		for _, r := range strings.Fields(roots) {
			label, at, _ := strings.Cut(r, "=")
			out += "  - {dir: " + at + ", label: " + label + "}\n"
		}
		return out + "access:\n  default: allow\n  rules:\n    - deny: [" + rules + "]\n"
	}
	put(t, file, text("acme=acme tools=tools", "\"skill://acme/vault/**\""))
	url, log := servingLog(t, "--config", file)
	hidden := func(what string) {
		t.Helper()
		if _, body := fetch(t, strings.TrimSuffix(url, "/mcp")+"/api/v1/skills"); strings.Contains(body, "acme/vault") || !strings.Contains(body, "tools/vault") || strings.Contains(body, "more") {
			t.Errorf("%s: seen are %s", what, body)
		}
	}
	hidden("at first")
	for _, c := range []struct{ what, roots, rules, say string }{
		{"renamed", "acme2=acme tools=tools", "\"skill://acme/vault/**\"", "knack.yaml:7:14: no root has the label acme, so the pattern skill://acme/vault/** denies nothing"},
		{"renamed with its rule", "acme2=acme tools=tools", "\"skill://acme2/vault/**\"", "knack.yaml:7:14: the pattern skill://acme2/vault/** is about the root acme2, and the label or the folder of that root has changed; restart the server to take over both"},
		{"renamed through another path", "acme2=tools/../acme tools=tools", "\"skill://acme2/vault/**\"", "knack.yaml:7:14: the pattern skill://acme2/vault/** is about the root acme2, "},
		{"swapped", "acme=tools tools=acme", "\"skill://acme/vault/**\"", "knack.yaml:7:14: the pattern skill://acme/vault/** is about the root acme, "},
		{"taken away with its rule", "tools=tools", "\"skill://tools/never\"", "the access rules have changed, and so has the root acme, which the server serves until it is restarted"},
		{"with a * for the label", "acme=acme tools=tools", "\"skill://*/vault/b\"", "knack.yaml:7:14: the pattern skill://*/vault/b has a * in its first part"},
	} {
		replace(t, file, text(c.roots, c.rules))
		hangUp(t, log, c.say)
		hidden(c.what)
	}
	if strings.Contains(log(), "were read again") {
		t.Errorf("it says that it was read:\n%s", log())
	}
	replace(t, file, "access: {default: allow, rules: [{deny: [\"skill://**/never\"]}]}\n")
	hangUp(t, log, "the access rules have changed, and so has the root acme")
	hidden("without roots")
	if strings.Contains(log(), "were read again") {
		t.Errorf("it says that it was read:\n%s", log())
	}
	// A change of roots is accepted if it changes no URI under a rule. The log reports that it
	// needs a restart.
	for roots, rules := range map[string]string{
		"acme=acme tools=tools more=more": "\"skill://acme/vault/**\", \"skill://more/secret\"", "tools=tools acme=acme": "\"skill://acme/vault/**\"",
	} {
		replace(t, file, text(roots, rules))
		hangUp(t, log, "these keys have changed, and take effect after a restart\" keys=roots")
		hidden(roots)
	}
}

// TestReloadAddsRoots checks that a server with --dir does not apply reloaded rules about roots
// that the file has only now. Such rules would not hide the server's skills.
func TestReloadAddsRoots(t *testing.T) {
	dir := t.TempDir()
	for _, at := range []string{"open", "vault/a"} {
		put(t, filepath.Join(dir, "acme", at, "SKILL.md"), "---\nname: "+filepath.Base(at)+"\ndescription: One.\n---\n")
	}
	file := filepath.Join(dir, "knack.yaml")
	put(t, file, "access: {default: allow, rules: [{deny: [\"skill://vault/**\"]}]}\n")
	url, log := servingLog(t, "--config", file, "--dir", filepath.Join(dir, "acme"))
	replace(t, file, "roots: [{dir: acme, label: acme}]\naccess: {default: allow, rules: [{deny: [\"skill://acme/vault/**\"]}]}\n")
	hangUp(t, log, "the access rules have changed, and roots were added, which the server does not serve yet; restart the server to take over both")
	if _, body := fetch(t, strings.TrimSuffix(url, "/mcp")+"/api/v1/skills"); strings.Contains(body, "vault") || !strings.Contains(body, "open") {
		t.Errorf("seen are %s", body)
	}
}

// TestLinksOpenNothing checks that a link in one root does not show a skill that the rules hide in
// another root, or elsewhere in the same root. Other links must show their targets.
func TestLinksOpenNothing(t *testing.T) {
	dir := t.TempDir()
	for _, at := range []string{"acme/open", "acme/vault/one", "acme/vault/deep/two", "tools/own"} {
		put(t, filepath.Join(dir, at, "SKILL.md"), "---\nname: "+filepath.Base(at)+"\ndescription: About "+filepath.Base(at)+".\n---\n")
	}
	for link, to := range map[string]string{"tools/a": "../acme/vault/one", "tools/b": "../acme/vault", "tools/c": "../acme/open", "acme/aaa": "vault/deep/two", "way": "acme"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "knack.yaml")
	for roots, pattern := range map[string]string{
		"roots: [{dir: acme, label: acme}, {dir: tools, label: tools}]\n": "skill://acme/vault/**",
		"roots: [{dir: tools, label: tools}, {dir: way, label: acme}]\n":  "skill://acme/vault/**",
		"":  "skill://**/vault/**",
		" ": "skill://dir-2/vault/**",
	} {
		put(t, file, strings.TrimSpace(roots)+"\naccess: {default: allow, rules: [{deny: [\""+pattern+"\"]}]}\n")
		args := []string{"--config", file}
		if strings.TrimSpace(roots) == "" {
			args = append(args, "--dir", filepath.Join(dir, "tools"), "--dir", filepath.Join(dir, "way"))
		}
		url, _ := servingLog(t, args...)
		_, body := fetch(t, strings.TrimSuffix(url, "/mcp")+"/api/v1/skills")
		for text, want := range map[string]bool{"About one": false, "About two": false, "About open": true, "About own": true} {
			if strings.Contains(body, text) != want {
				t.Errorf("%s%s: %q is visible: %v\n%s", roots, pattern, text, !want, body)
			}
		}
	}
}

// TestLinksAllowNothing checks that a link into another root shows a skill only if the rules allow
// the skill in that root too. A link within a root needs only a rule for itself.
func TestLinksAllowNothing(t *testing.T) {
	dir := t.TempDir()
	for _, at := range []string{"acme/one", "acme/two", "tools/store/three"} {
		put(t, filepath.Join(dir, at, "SKILL.md"), "---\nname: "+filepath.Base(at)+"\ndescription: About "+filepath.Base(at)+".\n---\n")
	}
	for link, to := range map[string]string{"one": "../acme/one", "two": "../acme/two", "aaa": "store/three"} {
		if err := os.Symlink(to, filepath.Join(dir, "tools", link)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "knack.yaml")
	put(t, file, "roots: [{dir: tools, label: tools}, {dir: acme, label: acme}]\naccess: {default: deny, rules: [{allow: [\"skill://tools/*\", \"skill://acme/two\"]}]}\n")
	url, _ := servingLog(t, "--config", file)
	_, body := fetch(t, strings.TrimSuffix(url, "/mcp")+"/api/v1/skills")
	for uri, want := range map[string]bool{"tools/one": false, "tools/two": true, "tools/three": true, "acme/two": true} {
		if strings.Contains(body, "skill://"+uri+"/") != want {
			t.Errorf("%s is visible: %v\n%s", uri, !want, body)
		}
	}
}

// TestLinksOpenNothingLater checks that a link shows no hidden skill of another root, even after a
// link above both roots was retargeted, as programs that synchronize folders do.
func TestLinksOpenNothingLater(t *testing.T) {
	dir := t.TempDir()
	for _, rev := range []string{"rev1", "rev2"} {
		for _, at := range []string{"acme/open", "acme/vault", "tools/own"} {
			put(t, filepath.Join(dir, rev, at, "SKILL.md"), "---\nname: "+filepath.Base(at)+"\ndescription: About "+filepath.Base(at)+" of "+rev+".\n---\n")
		}
		if err := os.Symlink("../acme/vault", filepath.Join(dir, rev, "tools", "way")); err != nil {
			t.Fatal(err)
		}
	}
	link := func(rev string) {
		if err := os.Symlink(rev, filepath.Join(dir, "new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "now")); err != nil {
			t.Fatal(err)
		}
	}
	link("rev1")
	file := filepath.Join(dir, "knack.yaml")
	put(t, file, "roots: [{dir: now/tools, label: tools}, {dir: now/acme, label: acme}]\naccess: {default: allow, rules: [{deny: [\"skill://acme/vault/**\"]}]}\n")
	url, _ := servingLog(t, "--config", file)
	at := strings.TrimSuffix(url, "/mcp") + "/api/v1/skills"
	if _, body := fetch(t, at); strings.Contains(body, "vault") || !strings.Contains(body, "own of rev1") {
		t.Fatalf("seen are %s", body)
	}
	link("rev2")
	var body string
	testwait.Until(t, func() bool {
		_, body = fetch(t, at)
		return strings.Contains(body, "own of rev2") && strings.Contains(body, "open of rev2")
	}, "both roots are those of rev2")
	if strings.Contains(body, "vault") {
		t.Errorf("seen are %s", body)
	}
}

// TestLinksOpenNothingAround checks that a link to a folder around a hidden skill shows no file of
// the skill, even if the scan found the skill earlier through another link.
func TestLinksOpenNothingAround(t *testing.T) {
	dir := t.TempDir()
	for _, at := range []string{"acme/group", "acme/group/vault", "acme/open", "tools/own"} {
		put(t, filepath.Join(dir, at, "SKILL.md"), "---\nname: "+filepath.Base(at)+"\ndescription: About "+filepath.Base(at)+".\n---\n")
	}
	file := filepath.Join(dir, "knack.yaml")
	put(t, file, "roots: [{dir: tools, label: tools}, {dir: acme, label: acme}]\naccess: {default: allow, rules: [{deny: [\"skill://acme/group/vault\"]}]}\n")
	for _, links := range []map[string]string{
		{"tools/a": "../acme/group/vault", "tools/b": "../acme/group", "tools/c": "../acme/open"},
		{"acme/aaa": "group/vault"},
	} {
		for link, to := range links {
			if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		url, _ := servingLog(t, "--config", file)
		at := strings.TrimSuffix(url, "/mcp")
		if _, body := fetch(t, at+"/api/v1/skills"); !strings.Contains(body, "About open") || !strings.Contains(body, "About own") {
			t.Errorf("%v: too much is hidden: %s", links, body)
		}
		for _, skill := range []string{"tools/group", "acme/group"} {
			if _, body := fetch(t, at+"/raw/"+skill+"/vault/SKILL.md"); strings.Contains(body, "About vault") {
				t.Errorf("%v: %s shows a file of the hidden skill", links, skill)
			}
		}
		for link := range links {
			if err := os.Remove(filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestLinksOpenNothingInProjects does the same as [TestLinksOpenNothing] for the folders of a
// project.
func TestLinksOpenNothingInProjects(t *testing.T) {
	dir := t.TempDir()
	for _, at := range []string{".claude/skills/vault", ".claude/skills/open"} {
		put(t, filepath.Join(dir, "it", at, "SKILL.md"), "---\nname: "+filepath.Base(at)+"\ndescription: About "+filepath.Base(at)+".\n---\n")
	}
	if err := os.MkdirAll(filepath.Join(dir, "it/.agents/skills"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"it/.agents/skills/a": "../../.claude/skills/vault", "way": "it"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "knack.yaml")
	put(t, file, "access: {default: allow, rules: [{deny: [\"skill://claude-project/vault\"]}]}\n")
	url, _ := servingLog(t, "--config", file, "--project", filepath.Join(dir, "way"))
	if _, body := fetch(t, strings.TrimSuffix(url, "/mcp")+"/api/v1/skills"); strings.Contains(body, "About vault") || !strings.Contains(body, "About open") {
		t.Errorf("seen are %s", body)
	}
}
