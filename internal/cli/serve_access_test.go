//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestServeAccess checks that the configuration decides which skills a client sees. SIGHUP must
// reload it, and apply it as a whole or not at all.
func TestServeAccess(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"common", "secret", "more"} {
		put(t, filepath.Join(dir, name, "SKILL.md"), "---\nname: "+name+"\ndescription: One.\n---\n")
	}
	anna, annaLine := access.NewToken()
	bert, bertLine := access.NewToken()
	carl, carlLine := access.NewToken()
	tokens := filepath.Join(t.TempDir(), "tokens")
	put(t, tokens, carlLine+" carl\n")
	file := filepath.Join(t.TempDir(), "knack.yaml")
	strange := "    - {groups: [insider], subjects: [carl, brt, zacharias], allow: [\"skill://common\"]}\n"
	head := "access:\n  default: deny\n  tokens:\n    - {hash: " + annaLine + ", subject: anna, groups: [insiders]}\n"
	const common, inside = "    - allow: [\"skill://common\"]\n", "    - {groups: [insiders], allow: [\"skill://**\"]}\n"
	withBert := "    - {hash: " + bertLine + ", subject: bert}\n"
	text := head + withBert + "  rules:\n" + common + inside + "    - deny: [\"skill://sercet\"]\n" + strange
	put(t, file, text)

	url, log := servingLog(t, "--dir", dir, "--config", file, "--token-file", tokens)
	sees := func(token string) string {
		code, out, errs := check(t, token, url)
		if code != 0 {
			_, last, _ := strings.Cut(strings.TrimSpace(errs), "error: ")
			return last
		}
		return strings.Join(strings.Fields(out)[:2], " ")
	}
	expect := func(what string, want map[string]string) {
		t.Helper()
		for token, want := range want {
			if got := sees(token); !strings.Contains(got, want) {
				t.Errorf("%s: %q, want %s", what, got, want)
			}
		}
	}
	logged := func(text string) {
		t.Helper()
		testwait.Until(t, func() bool { return strings.Contains(log(), text) }, text, "is not in the log:", log)
	}
	expect("at first", map[string]string{anna: "3 skills,", bert: "1 skill,", carl: "1 skill,"})
	logged(`applies to a group that no token has: it may be misspelt" group=insider near=insiders`)
	logged(`applies to a subject that no token has: it may be misspelt" subject=brt near=bert`)
	logged(`subject=zacharias` + "\n")
	if strings.Contains(log(), "subject=carl") {
		t.Error("a subject of the token file is a stranger")
	}
	logged(`msg="no skill matches a pattern of the access rules: it may be misspelt" pattern=skill://sercet`)

	put(t, file, head+"  rules:\n"+common+"  rulse: 1\n")
	hangUp(t, log, `reason="`+file+`:7:3: there is no key 'rulse' in access`)
	expect("after a file that is wrong", map[string]string{anna: "3 skills,", bert: "1 skill,"})

	put(t, file, "")
	hangUp(t, log, `reason="`+file+` no longer has access.default, and skills that are hidden now would become visible; if you intend that, write default: allow and rules: [] in the section access"`)
	put(t, file, "access: {default: allow}\n")
	hangUp(t, log, `reason="`+file+` no longer has access.rules, `)
	expect("after a file that was emptied", map[string]string{anna: "3 skills,", bert: "1 skill,", carl: "1 skill,"})

	put(t, file, strings.TrimSuffix(text, strange))
	const cut = " is only the beginning of the previous file, lacks rules or token owners that are in effect, and looks cut short; write the whole file again, or, if you intend to remove something, make another change too, such as a comment in place of it, or restart the server\""
	hangUp(t, log, `reason="`+file+cut)
	put(t, file, strings.TrimSpace(text)) // without the last line break
	put(t, tokens, carlLine+" car")
	hangUp(t, log, `reason="--token-file `+tokens+cut)
	expect("after files that were cut short", map[string]string{anna: "3 skills,", bert: "1 skill,", carl: "1 skill,"})

	// Deleting the line of a token revokes it, even if it is the last line.
	dora, doraLine := access.NewToken()
	again := func() {
		t.Helper()
		hangUp(t, log, "the settings and tokens were read again")
	}
	put(t, tokens, carlLine+" carl\n"+doraLine+" dora\n")
	again()
	expect("with one more", map[string]string{carl: "1 skill,", dora: "1 skill,"})
	put(t, tokens, carlLine+" carl\n")
	again()
	expect("without it", map[string]string{carl: "1 skill,", dora: "(401)"})

	// A client is in the groups that the file lists after a reload: first in another group, then in
	// the first one again.
	put(t, file, strings.Replace(text, "groups: [insiders]}\n    - {hash", "groups: [outsiders]}\n    - {hash", 1))
	again()
	expect("with another group", map[string]string{anna: "1 skill,", bert: "1 skill,"})
	put(t, file, text)
	again()
	expect("with its group again", map[string]string{anna: "3 skills,", bert: "1 skill,"})

	put(t, file, "access: {default: allow, rules: []}\n")
	put(t, tokens, "")
	hangUp(t, log, "it has no token's hash")
	put(t, tokens, "# without a name\n"+carlLine+"\n")

	put(t, file, head+"  rules:\n"+common+inside+"    - deny: [\"skill://secret\"]\n")
	again()
	expect("after a reload", map[string]string{anna: "2 skills,", bert: "(401)", carl: "1 skill,"})

	for text := range map[string]string{anna: "", bert: "", carl: ""} {
		if strings.Contains(log(), text) {
			t.Error("the log has a token")
		}
	}
}

// TestReloadTells checks that a SIGHUP that changes only rules immediately notifies the clients
// that see different skills by the new rules, and no others. No skill changes, so a scan of the
// folders would not notify them.
func TestReloadTells(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for 2 s")
	}
	// This test is not parallel, since the signal reaches every server in this process.
	dir := t.TempDir()
	for _, name := range []string{"common", "inside"} {
		put(t, filepath.Join(dir, name, "SKILL.md"), "---\nname: "+name+"\ndescription: One.\n---\n")
		put(t, filepath.Join(dir, name, "notes.md"), "notes\n")
	}
	tokens, lines := map[string]string{}, ""
	for _, name := range []string{"anna", "bert"} {
		token, line := access.NewToken()
		tokens[name], lines = token, lines+"    - {hash: "+line+", subject: "+name+"}\n"
	}
	file := filepath.Join(t.TempDir(), "knack.yaml")
	rule := func(name string) string { return "    - {subjects: [" + name + "], deny: [\"skill://inside\"]}\n" }
	head := "access:\n  default: allow\n  tokens:\n" + lines + "  rules:\n    - {subjects: [nobody], deny: [\"skill://common\"]}\n"
	put(t, file, "access:\n  tokens:\n"+lines) // without rules
	url, _ := servingLog(t, "--dir", dir, "--config", file)
	h := &house{surfer: newSurfer(t, strings.TrimSuffix(url, "/mcp")), dir: dir, sessions: map[string]string{}}
	streams := map[string]*stream{}
	for name, token := range tokens {
		r := role{name: name, headers: []string{"Authorization: Bearer " + token}}
		h.enter(r)
		streams[name] = h.listen("GET", "", "Authorization: Bearer "+token, "Mcp-Protocol-Version: 2025-11-25", "Mcp-Session-Id: "+h.sessions[name])
		h.send(r, probe{path: "/mcp", method: "POST", era: "2025-11-25", body: `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"skill://common/notes.md"}}`})
	}
	told := map[string]int{}
	count := func(s *stream) int { return strings.Count(s.text(), "/list_changed") }
	for i, step := range []struct{ rules, tells string }{{head + rule("anna"), "anna"}, {head + rule("anna") + rule("bert"), "bert"}, {head + rule("bert"), "anna"}} {
		put(t, file, step.rules)
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		told[step.tells] += 3 // three lists
		testwait.Until(t, func() bool { return count(streams[step.tells]) >= told[step.tells] }, "step", i, step.tells, "is not told:", streams[step.tells].text)
	}
	// Every other notification arrives before the one for this change.
	replace(t, filepath.Join(dir, "common/notes.md"), "other notes\n")
	for name, s := range streams {
		testwait.Until(t, func() bool { return strings.Contains(s.text(), "resources/updated") }, name, "hears no more:", s.text)
		if got := count(s); got != told[name] {
			t.Errorf("%s was told %d times, want %d:\n%s", name, got, told[name], s.text())
		}
	}
}

// TestServeTokenFile checks that a changed token file takes effect without a signal. A revoked
// token must be refused, and a damaged or truncated file must change nothing.
func TestServeTokenFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a", "SKILL.md"), "---\nname: a\ndescription: A.\n---\n")
	anna, annaLine := access.NewToken()
	bert, bertLine := access.NewToken()
	tokens := filepath.Join(t.TempDir(), "tokens")
	put(t, tokens, annaLine+" anna\n"+bertLine+" bert\n")
	url, log := servingLog(t, "--dir", dir, "--token-file", tokens)
	enters := func(token string) bool { code, _, _ := check(t, token, url); return code == 0 }
	logged := func(text string) {
		t.Helper()
		testwait.Until(t, func() bool { return strings.Contains(log(), text) }, text, "is not in the log:", log)
	}
	if !enters(anna) || !enters(bert) {
		t.Fatal(log())
	}
	env := console.Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }, Dir: dir}
	if code := cli.Main(t.Context(), env, []string{"token", "revoke", "bert", "--to", tokens}); code != 0 {
		t.Fatal(code)
	}
	logged("the token file has changed, and its tokens are in effect")
	if !enters(anna) || enters(bert) {
		t.Error("a revoked token is accepted, or another one refused")
	}
	replace(t, tokens, "knack_secret\n")
	logged("the token file was not read again; the previous tokens stay in effect")
	if !enters(anna) || strings.Contains(log(), "knack_secret") {
		t.Error("a file with a fault changes the tokens, or a token is in the log:", log())
	}
	replace(t, tokens, annaLine+" anna\n")
	logged("the token file can be read again, and is as before")
	replace(t, tokens, "# rotated\n"+annaLine+" an") // cut, but not the old beginning
	logged("looks cut short; write its last line whole")
	replace(t, tokens, annaLine+" anna\n")
	if code := cli.Main(t.Context(), env, []string{"token", "revoke", "anna", "--to", tokens}); code != 0 {
		t.Fatal(code)
	}
	logged("the token file has no token, and every client that needs one is refused")
	if enters(anna) {
		t.Error("the last token is accepted after it was revoked")
	}
}

func TestServeAccessRefuses(t *testing.T) {
	_, line := access.NewToken()
	file := filepath.Join(t.TempDir(), "knack.yaml")
	for text, want := range map[string]string{
		"access: {default: maybe}\n":                             "knack.yaml:1:19: access.default is not allow or deny",
		"access: {tokens: [{hash: " + line + ", subject: a}]}\n": "--no-auth: the configuration has tokens",
	} {
		put(t, file, text)
		var errs bytes.Buffer
		env := console.Env{Stderr: &errs, Getenv: func(string) string { return "" }, Dir: filepath.Dir(file)}
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		code := cli.Main(ctx, env, []string{"serve", "--http", "0", "--no-auth", "--config", "knack.yaml"})
		stop()
		if code != 2 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: %d %s", text, code, errs.String())
		}
	}
}

// replace replaces a file in one step, so that no reader sees an empty or incomplete file.
func replace(t *testing.T, file, text string) {
	t.Helper()
	beside := filepath.Join(t.TempDir(), "new")
	put(t, beside, text)
	if err := os.Rename(beside, file); err != nil {
		t.Fatal(err)
	}
}
