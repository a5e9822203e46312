package git

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// canary makes a program that creates a file if it runs. It returns the command, and a function
// that fails the test if the program ran.
func canary(t *testing.T) (command string, check func()) {
	t.Helper()
	dir := t.TempDir()
	command, mark := filepath.Join(dir, "canary"), filepath.Join(dir, "ran")
	if err := os.WriteFile(command, []byte("#!/bin/sh\necho \"$0 $*\" >>"+mark+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return command, func() {
		t.Helper()
		if data, err := os.ReadFile(mark); err == nil {
			t.Errorf("a program of the repository ran: %s", data)
		}
	}
}

// hostile commits a library with everything that could run in a checkout. check fails the test if a
// program of the library ran.
func (u *upstream) hostile() (check func()) {
	command, check := canary(u.t)
	u.commit(map[string]string{
		"good/SKILL.md": pdf, "good/text.txt": "a\nb\n", "good/big.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("a", 64) + "\nsize 12345\n",
		".gitattributes": "* filter=evil eol=crlf diff=evil merge=evil text ident\n*.bin filter=lfs\n", "good/ident.txt": "$Id$\n",
		".lfsconfig": "[lfs]\n\turl = http://127.0.0.1:1/\n", "linked/SKILL.md": pdf, "module/SKILL.md": pdf,
	})
	for _, key := range []string{"filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "diff.evil.textconv", "core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook", "core.alternateRefsCommand", "core.gitProxy"} {
		u.git("config", key, command)
	}
	for _, hook := range []string{"post-checkout", "post-merge", "pre-auto-gc", "reference-transaction", "post-index-change", "fsmonitor-watchman", "pre-commit", "update"} {
		if err := os.WriteFile(filepath.Join(u.dir, ".git/hooks", hook), []byte("#!/bin/sh\nexec "+command+" "+hook+"\n"), 0o755); err != nil {
			u.t.Fatal(err)
		}
	}
	u.git("-c", "core.hooksPath=/dev/null", "update-ref", "refs/heads/--upload-pack="+command, "HEAD")
	// Entries that a working tree would refuse, or that lead out of it: links, a submodule, and
	// its settings.
	blob, main := u.blob("/etc/passwd"), u.blob(pdf)
	modules := u.blob("[submodule \"x\"]\n\tpath = module/sub\n\turl = ext::" + command + "\n")
	top := strings.Split(u.gitIn("", "ls-tree", "-z", "HEAD"), "\x00")
	linked := u.gitIn("120000 blob "+blob+"\tout\x00100644 blob "+main+"\tSKILL.md\x00", "mktree", "-z")
	module := u.gitIn("160000 commit "+strings.Repeat("1", 40)+"\tsub\x00100644 blob "+main+"\tSKILL.md\x00", "mktree", "-z", "--missing")
	var entries []string
	for _, e := range top {
		switch _, name, _ := strings.Cut(e, "\t"); name {
		case "", "linked", "module":
		default:
			entries = append(entries, e)
		}
	}
	u.git("config", "core.hooksPath", "/dev/null")
	u.tree(append(entries, "040000 tree "+linked+"\tlinked", "040000 tree "+module+"\tmodule", "100644 blob "+modules+"\t.gitmodules")...)
	u.git("config", "--unset", "core.hooksPath")
	return check
}

// TestNothingRuns checks that no program of a repository runs, and that its files arrive unchanged.
func TestNothingRuns(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	check := u.hostile()
	// The user's templates and hooks do not run either.
	command, _ := canary(t)
	template := filepath.Join(u.home, "template/hooks")
	if err := os.MkdirAll(template, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"post-checkout", "reference-transaction", "pre-auto-gc"} {
		if err := os.WriteFile(filepath.Join(template, hook), []byte("#!/bin/sh\nexec "+command+" "+hook+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	settings := fmt.Sprintf("[init]\n\ttemplateDir = %s\n[core]\n\thooksPath = %s\n\tfsmonitor = %s\n[filter \"lfs\"]\n\tsmudge = %[3]s\n\tprocess = %[3]s\n[maintenance]\n\tauto = true\n", filepath.Dir(template), template, command)
	if err := os.WriteFile(filepath.Join(u.home, ".gitconfig"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	server := u.serve(nil)
	for _, ref := range []origin.Ref{u.ref(""), server.ref("")} {
		var warned []string
		other := t.TempDir()
		g := u.origin(func(o *Options) {
			o.Env = append(o.Env, "GIT_DIR="+other, "GIT_WORK_TREE="+other, "GIT_TEMPLATE_DIR="+filepath.Dir(template), "GIT_OBJECT_DIRECTORY="+other, "GIT_INDEX_FILE="+other+"/index")
			o.Warn = func(s string) { warned = append(warned, s) }
		})
		skills, got := take(t, g, ref, origin.Revision{})
		check()
		if hooks, _ := filepath.Glob(filepath.Join(filepath.Dir(first(g.opts.Dir(""))), "*/hooks")); len(hooks) != 0 {
			t.Errorf("a repository of the store has hooks: %q", hooks)
		}
		want := map[string]string{
			"good: SKILL.md": pdf, "good: text.txt": "a\nb\n", "good: ident.txt": "$Id$\n", "module: SKILL.md": pdf, "linked: SKILL.md": pdf,
			"good: big.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("a", 64) + "\nsize 12345\n",
		}
		if diff := cmp.Diff(want, got.Files); diff != "" {
			t.Error(diff)
		}
		if len(skills) != 3 || len(got.Failed) != 0 || len(skills[1].Dropped) != 1 || !strings.Contains(skills[1].Dropped[0], "'out': the link leads out") || skills[2].Left != 1 {
			t.Errorf("%+v %v", skills, got.Failed)
		}
		if len(warned) != 1 || !strings.Contains(warned[0], "'good/big.bin' is a pointer to a large file of Git LFS") {
			t.Errorf("warned %q", warned)
		}
		if left, _ := os.ReadDir(other); len(left) != 0 {
			t.Errorf("git wrote into a folder that the environment names: %v", left)
		}
	}
}

// TestLocations checks that a location that git would take for an option or a program is refused
// before git sees it.
func TestLocations(t *testing.T) {
	u := newUpstream(t)
	command, check := canary(t)
	g := u.origin(nil)
	for _, location := range []string{
		"", "-x", "--upload-pack=" + command, "ext::" + command, "ext::sh -c " + command, "ssh://-oProxyCommand=" + command + "/x", "git@-oProxyCommand=" + command + ":x",
		"-oProxyCommand=" + command + ":x", "fd::17/x", "git://127.0.0.1/x", "http://example.com/x", "ftp://127.0.0.1/x", "https://u:p@127.0.0.1/x", "https://u@127.0.0.1/x",
		"ssh://u:p@127.0.0.1/x", "host:--upload-pack=" + command, "https:///x", "host::x", "https://127.0.0.1/x?y", "https://127.0.0.1/x#y", "x\ny:z", "up/stream", "../up", "file+ext::x",
	} {
		for _, want := range []string{"", strings.Repeat("a", 40)} {
			_, err := g.Resolve(t.Context(), origin.Ref{Kind: origin.Git, Location: location, Want: want})
			_, opened := g.Open(t.Context(), origin.Ref{Kind: origin.Git, Location: location, Want: want}, origin.Revision{})
			if want == "" && err == nil || opened == nil {
				t.Errorf("%q is not refused", location)
			}
		}
	}
	if g.opened() {
		t.Error("git was started")
	}
	check()
	// If the user's own settings lead to another protocol, the error names the setting.
	if err := os.WriteFile(filepath.Join(u.home, ".gitconfig"), []byte("[url \"ext::"+command+" \"]\n\tinsteadOf = https://example.com/\n[protocol]\n\tallow = always\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := u.origin(nil).Resolve(t.Context(), origin.Ref{Kind: origin.Git, Source: "example.com/x", Location: "https://example.com/x"})
	if err == nil || !strings.Contains(err.Error(), "git would use a protocol that knack does not allow; look for insteadOf") {
		t.Error(err)
	}
	check()
}

func (g *Origin) opened() bool { return len(g.asked)+len(g.occupied) > 0 }

// TestTreesThatLeadOut checks trees with a name that would lead out of a folder. Either git refuses
// the tree, or the skill has a fault or leaves files out.
func TestTreesThatLeadOut(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"..", ".git", ".GIT", ".", "", "a/../../b", "/etc", "git~1", "a\\..\\b"} {
		u := newUpstream(t)
		id, _ := hex.DecodeString(u.blob(pdf))
		inner := u.raw("100644 " + name + "\x00" + string(id) + "100644 SKILL.md\x00" + string(id))
		raw, _ := hex.DecodeString(inner)
		outer := u.raw("40000 a\x00" + string(raw))
		u.git("update-ref", "refs/heads/main", u.git("commit-tree", "-m", "a tree", outer))
		g := u.origin(nil)
		lib, err := g.Open(t.Context(), u.ref(""), origin.Revision{})
		if err == nil {
			skills, err := lib.Skills(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range skills {
				if s.Fault == nil && s.Left == 0 {
					t.Errorf("%q: %+v", name, s)
				}
			}
		} else if t.Log(err); !strings.Contains(err.Error(), "has an object that git refuses") && !strings.Contains(err.Error(), "git says") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestOldObjects checks that a repository with objects of old programs is read, although git fsck
// complains about them.
func TestOldObjects(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	id, _ := hex.DecodeString(u.blob(pdf))
	inner, _ := hex.DecodeString(u.raw("100644 SKILL.md\x00" + string(id)))
	tree := u.raw("040000 a\x00" + string(inner))
	for _, author := range []string{"a <a@example.com> 1 +51800", "a <a@example.com>1 +0000"} {
		commit := u.gitIn("tree "+tree+"\nauthor "+author+"\ncommitter "+author+"\n\nx\n", "hash-object", "-t", "commit", "-w", "--stdin", "--literally")
		u.git("update-ref", "refs/heads/main", commit)
		if _, got := take(t, u.origin(nil), u.ref(""), origin.Revision{}); got.Files["a: SKILL.md"] != pdf {
			t.Errorf("%s: %v", author, got)
		}
	}
}

func first(s string, _ error) string { return s }

// raw writes a tree that git itself would not make.
func (u *upstream) raw(tree string) string {
	return u.gitIn(tree, "hash-object", "-t", "tree", "-w", "--stdin", "--literally")
}

// TestCredentials checks that credentials come from the user's helper, and that no error contains
// them, even if the server repeats them.
func TestCredentials(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.library()
	const user, password = "canary-user", "canary-password-0123"
	secret := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	var set setting
	set.to("good")
	server := u.serve(func(w http.ResponseWriter, r *http.Request) bool {
		given, mode := r.Header.Get("Authorization"), set.now()
		switch {
		case given == "":
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		case given == "Basic "+secret && mode == "good":
			return false
		case mode == "text":
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, "you sent %s\n%s %s\n", given, user, password)
		case mode == "packet":
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			text := "ERR you sent " + given + " that is " + password
			fmt.Fprintf(w, "%04x%s", len(text)+4, text)
		case mode == "redirect":
			http.Redirect(w, r, "http://"+user+":"+password+"@"+r.Host+"/nowhere?secret="+password, http.StatusFound)
			set.to("text")
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
		return true
	})
	ref := server.ref("")
	_, err := u.origin(nil).Resolve(t.Context(), ref)
	if err == nil || !strings.Contains(err.Error(), "the server wants a user name and a password") {
		t.Errorf("without credentials: %v", err)
	}
	helper := "!f() { test \"$1\" = get && echo username=" + user + " && echo password=" + password + "; }; f"
	u.git("config", "--global", "credential.helper", helper)
	if _, got := take(t, u.origin(nil), ref, origin.Revision{}); len(got.Files) != len(libraryFiles) {
		t.Errorf("with a helper: %v %v", got.Files, got.Failed)
	}
	settings, err := os.ReadFile(filepath.Join(u.home, ".gitconfig"))
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"text", "packet", "redirect", "refused"} {
		set.to(mode)
		g := u.origin(nil)
		_, err := g.Open(t.Context(), ref, origin.Revision{})
		if err == nil {
			t.Fatalf("%s: no error", mode)
		}
		hideSecrets(t, err, user, password, secret)
		// Put the credentials into the user's own settings.
		more := string(settings) + "[url \"http://" + user + ":" + password + "@" + server.url[len("http://"):] + "\"]\n\tinsteadOf = " + server.url + "\n"
		if err := os.WriteFile(filepath.Join(u.home, ".gitconfig"), []byte(more), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err = u.origin(nil).Open(t.Context(), ref, origin.Revision{ID: "git:" + strings.Repeat("1", 40)}); err == nil {
			t.Fatalf("%s: no error", mode)
		}
		hideSecrets(t, err, user, password, secret)
		if err := os.WriteFile(filepath.Join(u.home, ".gitconfig"), settings, 0o600); err != nil {
			t.Fatal(err)
		}
		err = filepath.WalkDir(filepath.Dir(filepath.Dir(first(g.opts.Dir("")))), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if strings.Contains(string(data), password) || strings.Contains(string(data), secret) {
				t.Errorf("%s has the password", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func hideSecrets(t *testing.T, err error, secrets ...string) {
	t.Helper()
	t.Log(err)
	for _, s := range secrets {
		if strings.Contains(err.Error(), s) {
			t.Errorf("the error has %q: %v", s, err)
		}
	}
}

// TestProgram checks that the error of a missing or too old git names the program, with an
// alternative.
func TestProgram(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("starts a script")
	}
	dir := t.TempDir()
	for name, c := range map[string]struct{ script, says string }{
		"absent":  {"", "the program git is not installed: install it, or name an archive"},
		"old":     {"echo git version 2.28.4", "git 2.28 is too old: install git 2.29 or newer, or name an archive"},
		"ancient": {"echo git version 1.9.1", "git 1.9 is too old"},
		"another": {"echo hello", "does not say which version of git it is"},
		"failing": {"exit 3", "does not say which version of git it is"},
	} {
		program := filepath.Join(dir, name)
		if c.script != "" {
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		g := New(Options{Program: program, Dir: func(string) (string, error) { return dir, nil }})
		_, err := g.Resolve(t.Context(), origin.Ref{Location: "https://127.0.0.1/x"})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInterrupt checks that an interrupt ends git and its children, although a server does not
// answer.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	for _, terminal := range []bool{false, true} {
		arrived, gone := make(chan struct{}, 8), make(chan struct{}, 8)
		hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			arrived <- struct{}{}
			<-r.Context().Done() // the program has closed its connection
			gone <- struct{}{}
		}))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		g := u.origin(func(o *Options) { o.Terminal = terminal })
		go func() {
			_, err := g.Resolve(ctx, origin.Ref{Location: hanging.URL + "/x"})
			done <- err
		}()
		<-arrived
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("terminal %v: %v", terminal, err)
		}
		if !terminal { // with a terminal, git's helper notices the end only after half a minute
			<-gone
		}
		hanging.CloseClientConnections()
		hanging.Close()
	}
}

// TestPrograms checks, with strace, that only programs of git are started, and that only the store
// is written to.
func TestPrograms(t *testing.T) {
	t.Parallel()
	if os.Getenv(straced) != "" {
		t.Skip("is the one that is watched")
	}
	testwait.Slow(t)
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	u := newUpstream(t)
	check := u.hostile()
	server := u.serve(nil)
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	programs := u.git("--exec-path")
	for _, location := range []string{server.url, u.dir} {
		store, trace := t.TempDir(), filepath.Join(t.TempDir(), "trace")
		cmd := exec.Command(strace, "-f", "-qq", "-s", "4096", "-e", "trace=execve,openat,creat,rename,link,mkdir,unlink,symlink", "-o", trace, os.Args[0], "-test.run=^TestStraced$")
		cmd.Env = append(u.environ(), straced+"="+location, straced+"_STORE="+store, "TMPDIR="+store)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		check()
		data, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		started := map[string]int{}
		for line := range strings.SplitSeq(string(data), "\n") {
			if m := execLine.FindStringSubmatch(line); m != nil {
				started[m[1]]++
				ours := m[1] == git || m[1] == os.Args[0] || filepath.Dir(m[1]) == programs
				// git reaches a repository of this machine with a shell command that it makes
				// itself, as it does over ssh.
				if shell := location == u.dir && strings.HasPrefix(m[2], `["/bin/sh", "-c", "git-upload-pack '`); !ours && !shell {
					t.Errorf("started: %s", line)
				}
			}
			if m := writeLine.FindStringSubmatch(line); m != nil && strings.HasPrefix(m[1]+m[2], "/") && !strings.HasPrefix(m[1]+m[2], store) && m[1] != "/dev/null" {
				t.Errorf("written outside of the store: %s", line)
			}
		}
		t.Log(started)
		if started[git] == 0 {
			t.Errorf("the trace has no git: %v", started)
		}
	}
}

var (
	execLine  = regexp.MustCompile(`execve\("([^"]*)", (.*\]), .* = 0$`)
	writeLine = regexp.MustCompile(`(?:openat\(\S+ "([^"]*)", O_(?:WRONLY|RDWR)|(?:creat|mkdir|unlink)\("([^"]*)").* = [0-9]`)
)

const straced = "KNACK_TEST_STRACED"

// TestStraced is the process that TestPrograms traces.
func TestStraced(t *testing.T) {
	location := os.Getenv(straced)
	if location == "" {
		t.Skip("TestPrograms starts it")
	}
	store := os.Getenv(straced + "_STORE")
	g := New(Options{Env: os.Environ(), Dir: func(key string) (string, error) {
		return filepath.Join(store, hex.EncodeToString([]byte(key[:min(len(key), 60)]))), nil
	}})
	skills, got := take(t, g, origin.Ref{Location: location}, origin.Revision{})
	if len(skills) != 3 || len(got.Files) != 6 {
		t.Error(skills, got)
	}
}
