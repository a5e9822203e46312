// Package windows runs knack.exe under Wine, as a Windows user would, and compares the results with
// the table in doc/conformance.md. Use make windows to run it.
package windows

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what was seen into doc/conformance.md")

const (
	document = "../../doc/conformance.md"
	begins   = "<!-- windows: written by make windows WINDOWSFLAGS=-update -->\n"
	ends     = "<!-- end of windows -->"
)

// machine is a Windows machine with its own disk.
type machine struct {
	prefix, binary string
	home           string // the user's home, as a path of the host system
	env            []string
}

// install makes a machine with knack.exe in C:\knack.
func install(t *testing.T) *machine {
	t.Helper()
	for _, program := range []string{"wine", "x86_64-w64-mingw32-ld"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v; run bash interop/windows/install", err)
		}
	}
	m := &machine{prefix: filepath.Join(t.TempDir(), "wine")}
	m.env = append(os.Environ(), "WINEPREFIX="+m.prefix, "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree,mshtml=", "KNACK_DIRS=", "XDG_CONFIG_HOME=")
	m.do(t, exec.Command("wine", "wineboot", "--init"))
	t.Cleanup(func() { // ends Wine's processes for this prefix; it fails if they have already ended
		kill := exec.Command("wineserver", "-k")
		kill.Env = m.env
		_ = kill.Run()
	})
	// Go programs get random numbers from a library that Wine provides since 8.13. This is a
	// substitute.
	system := filepath.Join(m.prefix, "drive_c", "windows", "system32")
	m.do(t, exec.Command("x86_64-w64-mingw32-ld", "--shared", "-o", filepath.Join(system, "bcryptprimitives.dll"), "testdata/bcryptprimitives.def"))
	m.binary = m.path(`C:\knack\knack.exe`)
	if dir := os.Getenv("KNACK_RELEASE"); dir != "" {
		m.unpack(t, dir)
	} else {
		m.build(t)
	}
	profile := m.run(t, `C:\`, nil, "cmd", "/c", "echo %USERPROFILE%")
	m.home = m.path(strings.TrimSpace(profile.out))
	return m
}

// unpack installs knack.exe from the archive of a release.
func (m *machine) unpack(t *testing.T, dir string) {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(dir, "knack_*_windows_amd64.zip"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("%s has the archives %v: %v", dir, archives, err)
	}
	if err := os.MkdirAll(filepath.Dir(m.binary), 0o755); err != nil {
		t.Fatal(err)
	}
	m.do(t, exec.Command("unzip", "-q", "-j", archives[0], "*/knack.exe", "-d", filepath.Dir(m.binary)))
}

func (m *machine) build(t *testing.T) {
	t.Helper()
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", m.binary, "../../cmd/knack")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build knack.exe: %v: %s", err, out)
	}
}

func (m *machine) do(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Env = m.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", cmd, err, out)
	}
}

// path returns the host system's path for a path of the machine.
func (m *machine) path(windows string) string {
	return filepath.Join(m.prefix, "drive_c", filepath.FromSlash(strings.ReplaceAll(strings.TrimPrefix(windows, `C:`), `\`, "/")))
}

// write writes files below a folder of the machine. The names have slashes.
func (m *machine) write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(m.path(folder), filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *machine) read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(m.path(file))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// answer is a program's output and exit status.
type answer struct {
	out, err string
	status   int
}

// knack runs knack.exe in a folder.
func (m *machine) knack(t *testing.T, folder string, args ...string) answer {
	t.Helper()
	return m.run(t, folder, nil, append([]string{m.binary}, args...)...)
}

func (m *machine) run(t *testing.T, folder string, env []string, words ...string) answer {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := m.command(ctx, folder, env, words...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", strings.Join(words, " "), err)
	}
	a := answer{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
	t.Logf("%s> %s\n%s%s(%d)", folder, strings.Join(words, " "), a.out, a.err, a.status)
	return a
}

func (m *machine) command(ctx context.Context, folder string, env []string, words ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "wine", words...)
	cmd.Dir, cmd.Env = m.path(folder), append(m.env, env...)
	return cmd
}

// says checks an answer's status, and that each of the texts is in its output or its errors.
func (a answer) says(t *testing.T, status int, out, errs []string) {
	t.Helper()
	if a.status != status {
		t.Errorf("the status is %d, want %d", a.status, status)
	}
	for _, want := range out {
		if !strings.Contains(a.out, want) {
			t.Errorf("%q is not in the output", want)
		}
	}
	for _, want := range errs {
		if !strings.Contains(a.err, want) {
			t.Errorf("%q is not among the errors", want)
		}
	}
	if len(errs) == 0 && a.err != "" && status == 0 {
		t.Errorf("errors: %s", a.err)
	}
}

// TestWindows runs each case on one machine, and compares the table of results with the document.
func TestWindows(t *testing.T) {
	if os.Getenv("KNACK_WINDOWS") == "" {
		t.Skip("make windows runs knack.exe under Wine")
	}
	m := install(t)
	version := m.run(t, `C:\`, nil, "--version")
	var table strings.Builder
	table.WriteString("| case | what is shown |\n| --- | --- |\n")
	ran := 0
	for _, c := range cases {
		shows := c.shows
		if !t.Run(c.name, func(t *testing.T) { ran++; c.run(t, m, `C:\`+c.name) }) {
			shows = "**fails**"
		}
		fmt.Fprintf(&table, "| %s | %s |\n", c.name, shows)
	}
	t.Logf("%s\n%s", version.out, table.String())
	if ran < len(cases) || t.Failed() {
		return // -run selected some of the cases, or a case failed
	}
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begins)
	old, after, closed := strings.Cut(rest, ends)
	switch {
	case !ok || !closed:
		t.Fatalf("%s has no table of this test", document)
	case *update:
		if err := os.WriteFile(document, []byte(before+begins+table.String()+ends+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case old != table.String():
		t.Errorf("%s has another table; make windows WINDOWSFLAGS=-update writes this one", document)
	}
}
