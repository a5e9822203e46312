//go:build unix

package cli_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// hangUp sends a SIGHUP to the server in this process, and waits until text is in its log once
// more.
func hangUp(t *testing.T, log func() string, text string) {
	t.Helper()
	before := strings.Count(log(), text)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, func() bool { return strings.Count(log(), text) > before }, text, "is not in the log:", log)
}

// TestServeRenewsCertificate checks that a renewed certificate is served, and that the log, the
// audit log and the metrics report it. A certificate that does not fit its key must be reported
// too, each time on SIGHUP, and not be served.
func TestServeRenewsCertificate(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a", "SKILL.md"), "---\nname: a\ndescription: A.\n---\n")
	cert, key := certificate(t)
	take := func() (pair [2]string) {
		cert, key := certificate(t)
		for i, file := range []string{cert, key} {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pair[i] = string(data)
		}
		return pair
	}
	records := filepath.Join(t.TempDir(), "audit.log")
	url, log := servingLog(t, "--dir", dir, "--tls-cert", cert, "--tls-key", key, "--audit", records)
	addr := strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/mcp")
	served := func() string {
		t.Helper()
		conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return string(conn.ConnectionState().PeerCertificates[0].Raw)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	measures := func(success float64) {
		t.Helper()
		body := request(t, client, http.MethodGet, strings.TrimSuffix(url, "/mcp")+"/metrics", "").body
		conn, err := x509.ParseCertificate([]byte(served()))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			fmt.Sprintf(`knack_reload_success{part="certificate"} %g`, success),
			`knack_reload_success{part="settings"} 1`,
			`knack_reload_success{part="audit-log"} 1`,
			fmt.Sprintf("knack_tls_certificate_expiry_timestamp_seconds %g", float64(conn.NotAfter.Unix())),
		} {
			if !strings.Contains(body, "\n"+line+"\n") {
				t.Errorf("the metrics lack %s", line)
			}
		}
	}
	first := served()
	measures(1)
	hangUp(t, log, "the settings and tokens were read again")
	if served() != first || strings.Contains(log(), "certificate was") {
		t.Errorf("nothing has changed:\n%s", log())
	}
	next := take()
	replace(t, cert, next[0])
	hangUp(t, log, "the TLS certificate was not reloaded; the previous one stays in use")
	if served() != first {
		t.Error("a certificate is served whose key is another")
	}
	measures(0)
	replace(t, key, next[1])
	testwait.Until(t, func() bool { return strings.Contains(log(), "the TLS certificate was reloaded") }, log)
	if served() == first {
		t.Error("the log says that another certificate is served, and it is not")
	}
	measures(1)
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	second := served()
	hangUp(t, log, "there is no such file")
	if served() != second {
		t.Error("without a key another certificate is served")
	}
	for _, line := range []string{
		`"surface":"server","method":"reload","asked":"certificate","result":"ok"}`,
		`"surface":"server","method":"reload","asked":"certificate","result":"refused","reason":"--tls-cert ` + cert + `, --tls-key ` + key + `: tls: private key does not match public key"}`,
		`"surface":"server","method":"reload","asked":"certificate","result":"refused","reason":"--tls-key ` + key + `: there is no such file"}`,
		`"surface":"server","method":"reload","asked":"settings","result":"ok"}`,
	} {
		testwait.Until(t, func() bool { data, _ := os.ReadFile(records); return strings.Contains(string(data), line) }, line, "is not in the audit log")
	}
}

// TestServeRefusesOldTLS checks that the server refuses versions of TLS before 1.2.
func TestServeRefusesOldTLS(t *testing.T) {
	cert, key := certificate(t)
	url, _ := servingLog(t, "--dir", t.TempDir(), "--tls-cert", cert, "--tls-key", key)
	addr := strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/mcp")
	for version, ok := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version})
		if (err == nil) != ok {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err == nil {
			conn.Close()
		}
	}
}

// TestServeRefusesMisspeltRules checks that a reload with rules for other roots is refused, and
// that the previous rules stay in force.
func TestServeRefusesMisspeltRules(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	put(t, filepath.Join(one, "open", "SKILL.md"), "---\nname: open\ndescription: A.\n---\n")
	put(t, filepath.Join(two, "secret", "a", "SKILL.md"), "---\nname: a\ndescription: A.\n---\n")
	file := filepath.Join(t.TempDir(), "knack.yaml")
	rules := func(pattern string) string {
		return "access:\n  default: allow\n  rules:\n    - deny: [\"" + pattern + "\"]\n"
	}
	put(t, file, rules("skill://dir-2/secret/**"))
	url, log := servingLog(t, "--dir", one, "--dir", two, "--config", file)
	hidden := func() {
		t.Helper()
		if _, body := fetch(t, strings.TrimSuffix(url, "/mcp")+"/api/v1/skills"); strings.Contains(body, "secret") || !strings.Contains(body, "open") {
			t.Errorf("seen are %s", body)
		}
	}
	hidden()
	for _, pattern := range []string{"skill://secret/**", "skill://dir-1/secret/**"} {
		replace(t, file, rules(pattern))
		hangUp(t, log, "knack.yaml:4:14: no skill of these roots matches the pattern "+pattern+", and as skill://dir-2/secret/** it would match")
		hidden()
	}
	if strings.Contains(log(), "were read again") {
		t.Errorf("it says that it was read:\n%s", log())
	}
}

// TestServeHidesMisspeltLater checks that rules for other roots hide a skill that appears after the
// start or after a reload. The log must tell how to correct the rules.
func TestServeHidesMisspeltLater(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	put(t, filepath.Join(one, "open", "SKILL.md"), "---\nname: open\ndescription: A.\n---\n")
	file := filepath.Join(t.TempDir(), "knack.yaml")
	put(t, file, "access:\n  default: allow\n  rules:\n    - deny: [\"skill://secret/**\"]\n")
	url, log := servingLog(t, "--dir", one, "--dir", two, "--config", file)
	at := strings.TrimSuffix(url, "/mcp")
	hides := func(name string) {
		t.Helper()
		put(t, filepath.Join(two, name, "SKILL.md"), "---\nname: "+name+"\ndescription: A.\n---\n")
		const line = "what it would deny is hidden until the rules are corrected and reloaded"
		text := "knack.yaml:4:14: no skill of these roots matches the pattern skill://" + name + "/**, and as skill://dir-2/" + name + "/** it would match"
		testwait.Until(t, func() bool { return strings.Contains(log(), line) && strings.Contains(log(), text) }, text, "is not in the log:", log)
		if code, _ := fetch(t, at+"/raw/dir-2/"+name+"/SKILL.md"); code != http.StatusNotFound {
			t.Errorf("%s: %d", name, code)
		}
		if code, _ := fetch(t, at+"/raw/dir-1/open/SKILL.md"); code != http.StatusOK {
			t.Errorf("another skill: %d", code)
		}
	}
	hides("secret")
	replace(t, file, "access:\n  default: allow\n  rules:\n    - deny: [\"skill://later/**\"]\n")
	hangUp(t, log, "the settings and tokens were read again")
	if code, _ := fetch(t, at+"/raw/dir-2/secret/SKILL.md"); code != http.StatusOK {
		t.Errorf("replaced rules still hide a skill: %d", code)
	}
	hides("later")
}

// TestServeRevokesUnderMisspeltRules checks that a reload of unchanged rules revokes a token, even
// if a skill that moved to another root made the rules misspelt. The skill must stay hidden, and
// the log must report it once. Changed rules, or a start, must still be refused.
func TestServeRevokesUnderMisspeltRules(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	put(t, filepath.Join(one, "open", "SKILL.md"), "---\nname: open\ndescription: A.\n---\n")
	put(t, filepath.Join(one, "secret", "x", "SKILL.md"), "---\nname: x\ndescription: A.\n---\n")
	file := filepath.Join(t.TempDir(), "knack.yaml")
	anna, annaLine := access.NewToken()
	bert, bertLine := access.NewToken()
	text := "access:\n  default: allow\n  rules:\n    - deny: [\"skill://dir-1/secret/**\"]\n  tokens:\n    - {hash: " + annaLine + ", subject: anna}\n"
	withBert := text + "    - {hash: " + bertLine + ", subject: bert}\n"
	put(t, file, withBert)
	url, log := servingLog(t, "--no-builtin", "--dir", one, "--dir", two, "--config", file)
	expect := func(token string, status int) {
		t.Helper()
		if code, body := fetch(t, strings.TrimSuffix(url, "/mcp")+"/api/v1/skills", "Authorization: Bearer "+token); code != status || strings.Contains(body, "secret") {
			t.Errorf("%d, want %d: %s", code, status, body)
		}
	}
	expect(bert, http.StatusOK)
	if err := os.Rename(filepath.Join(one, "secret"), filepath.Join(two, "secret")); err != nil {
		t.Fatal(err)
	}
	const misspelt = "no skill of these roots matches the pattern skill://dir-1/secret/**, and as skill://dir-2/secret/** it would match"
	testwait.Until(t, func() bool { return strings.Contains(log(), misspelt) }, "the log says nothing:", log)
	expect(bert, http.StatusOK)
	replace(t, file, text)
	hangUp(t, log, "the settings and tokens were read again")
	expect(bert, http.StatusUnauthorized)
	expect(anna, http.StatusOK)
	if n := strings.Count(log(), misspelt); n != 1 {
		t.Errorf("the log says it %d times:\n%s", n, log())
	}
	replace(t, file, strings.Replace(text, "]", ", \"skill://dir-1/open\"]", 1))
	hangUp(t, log, "the settings and tokens were not read again")
	expect(anna, http.StatusOK)
}

// TestServeSaysWhichNames checks that a server that listens on every address of the machine warns
// at its start that it refuses clients that use a host name.
func TestServeSaysWhichNames(t *testing.T) {
	_, line := access.NewToken()
	file := filepath.Join(t.TempDir(), "tokens")
	put(t, file, line+"\n")
	const word = "no name or address of this machine is allowed"
	for _, c := range []struct {
		args []string
		says bool
	}{
		{[]string{"--http", "0.0.0.0:0"}, true},
		{[]string{"--http", "0.0.0.0:0", "--allow-host", "localhost"}, true},
		{[]string{"--http", "0.0.0.0:0", "--allow-host", "skills.example"}, false},
		{[]string{"--http", "127.0.0.1:0"}, false},
	} {
		url, log := servingWith(t, append([]string{"serve", "--no-builtin", "--dir", t.TempDir(), "--token-file", file}, c.args...))
		if strings.Contains(log(), word) != c.says {
			t.Errorf("%q: the log says\n%s", c.args, log())
		}
		_, port, _ := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp"))
		code, _ := fetch(t, "http://127.0.0.1:"+port+"/", "Host: skills.example")
		if refused := code == http.StatusForbidden; refused != (len(c.args) == 2 || c.args[3] == "localhost") {
			t.Errorf("%q: %d", c.args, code)
		}
	}
}
