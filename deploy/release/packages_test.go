//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// machine runs programs in an empty Debian or, if root is "", on this machine.
type machine struct {
	root, home string
	env        []string
}

// command returns a command that runs as the machine's user. That may be root only on this machine.
func (m machine) command(t *testing.T, name string, args ...string) *exec.Cmd {
	words := append([]string{name}, args...)
	if m.root != "" {
		words = append([]string{"chroot", "--userspec=1000:1000", m.root, "env", "-i", "PATH=/usr/bin:/bin", "HOME=" + m.home}, append(m.env, words...)...)
	}
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	if m.root == "" {
		cmd.Dir, cmd.Env = m.home, append(append(os.Environ(), "HOME="+m.home), m.env...)
	}
	return cmd
}

// sh runs a shell script in the user's home, and returns its output.
func (m machine) sh(t *testing.T, script string) string {
	t.Helper()
	out, err := m.command(t, "sh", "-e", "-c", "cd && "+script).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// connects has the given knack write its entry for a client. It starts the command of the entry as
// the client would.
func (m machine) connects(t *testing.T, knack, want string) {
	t.Helper()
	m.sh(t, knack+" connect cursor --write")
	var file struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	if err := json.Unmarshal(read(t, filepath.Join(m.root, m.home, ".cursor/mcp.json")), &file); err != nil {
		t.Fatal(err)
	}
	entry := file.MCPServers["knack"]
	if got := strings.Join(append([]string{entry.Command}, entry.Args...), " "); got != want {
		t.Errorf("the entry starts %s, want %s", got, want)
	}
	answers(t, m.command(t, entry.Command, entry.Args...))
}

// answers checks that a command serves MCP on its standard input and output.
func answers(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n")
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), `"serverInfo":{"name":"knack"`) {
		t.Errorf("%v: %v %s", cmd.Args, err, out)
	}
}

// emptyDebian returns the root of a minimal Debian with only Node.js added.
func emptyDebian(t *testing.T) string {
	t.Helper()
	has(t, "debootstrap")
	if os.Getuid() != 0 && os.Getenv("KNACK_RELEASE_ALL") != "" {
		t.Fatal("only root can use chroot")
	} else if os.Getuid() != 0 {
		t.Skip("only root can use chroot")
	}
	parent, err := os.MkdirTemp("/var/tmp", "knack-debian")
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(parent, "root")
	t.Cleanup(func() {
		for _, at := range []string{"proc", "sys"} {
			_ = exec.Command("umount", "-l", filepath.Join(root, at)).Run()
		}
		if err := os.RemoveAll(parent); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, ok := do(t, "", nil, "debootstrap", "--variant=minbase", "--include=nodejs", "bookworm", root); !ok {
		t.Fatal(out)
	}
	// A program needs /proc to find its own path.
	if out, ok := do(t, "", nil, "mount", "-t", "proc", "proc", filepath.Join(root, "proc")); !ok {
		t.Fatal(out)
	}
	return root
}

// user makes a user of an empty Debian, with an empty home.
func user(t *testing.T, root, name string) machine {
	t.Helper()
	at := filepath.Join(root, "home", name)
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(at, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	return machine{root: root, home: "/home/" + name}
}

// copyTo copies a file of the release into a folder.
func copyTo(t *testing.T, folder, from string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(folder, filepath.Base(from))
	write(t, to, read(t, from))
	if err := os.Chmod(to, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestEmptyDebian checks that, in an empty Debian, each kind of package is installed and lists
// skills with one command.
func TestEmptyDebian(t *testing.T) {
	dir, version := made(t)
	root := emptyDebian(t)
	base := (&release{version: version}).folder(target{"linux", runtime.GOARCH})
	for _, name := range []string{base + ".deb", base + ".tar.gz", "install.sh"} {
		copyTo(t, filepath.Join(root, "release"), filepath.Join(dir, name))
	}
	t.Run("install.sh", func(t *testing.T) {
		m := user(t, root, "script")
		out := m.sh(t, "sh /release/install.sh /release/"+base+".tar.gz && .local/bin/knack list")
		if !strings.Contains(out, "2 skills") {
			t.Error(out)
		}
		m.connects(t, ".local/bin/knack", m.home+"/.local/bin/knack serve")
	})
	t.Run("npm", func(t *testing.T) {
		url, _ := registry(t, dir, version)
		npm := filepath.Join(root, "usr/lib/npm")
		tgz, ok := do(t, root, nil, "npm", "pack", "--silent", "npm@10")
		if !ok {
			t.Fatal(tgz)
		}
		if err := os.MkdirAll(npm, 0o755); err != nil {
			t.Fatal(err)
		}
		if out, ok := do(t, root, nil, "tar", "-xzf", strings.TrimSpace(tgz), "--strip-components=1", "-C", npm); !ok {
			t.Fatal(out)
		}
		for _, name := range []string{"npm", "npx"} {
			if err := os.Symlink("../lib/npm/bin/"+name+"-cli.js", filepath.Join(root, "usr/bin", name)); err != nil {
				t.Fatal(err)
			}
		}
		m := user(t, root, "node")
		m.env = []string{"npm_config_registry=" + url, "npm_config_update_notifier=false"}
		if out := m.sh(t, "npx -y "+npmName+" list"); !strings.Contains(out, "2 skills") {
			t.Error(out)
		}
		m.connects(t, "npx -y "+npmName, "npx -y "+npmName+"@"+version+" serve")
	})
	t.Run("deb", func(t *testing.T) {
		m := user(t, root, "debian")
		if out, ok := do(t, "", nil, "chroot", root, "apt-get", "install", "-y", "/release/"+base+".deb"); !ok {
			t.Fatal(out)
		}
		if out := m.sh(t, "knack list"); !strings.Contains(out, "2 skills") {
			t.Error(out)
		}
		m.connects(t, "knack", "/usr/bin/knack serve")
		if out, ok := do(t, "", nil, "chroot", root, "apt-get", "purge", "-y", "knack"); !ok {
			t.Fatal(out)
		}
		if _, err := os.Stat(filepath.Join(root, "usr/bin/knack")); err == nil {
			t.Error("knack is still there")
		}
	})
}

// TestRPM checks that rpm installs the package into a folder, and that its knack runs.
func TestRPM(t *testing.T) {
	dir, version := made(t)
	has(t, "rpm")
	file := filepath.Join(dir, (&release{version: version}).folder(target{"linux", runtime.GOARCH})+".rpm")
	if out, ok := do(t, "", nil, "rpm", "--checksig", "--nosignature", file); !ok || !strings.Contains(out, "digests OK") {
		t.Error(out)
	}
	root := t.TempDir()
	if out, ok := do(t, "", nil, "rpm", "--root", root, "--nodeps", "--nosignature", "--install", file); !ok {
		t.Fatal(out)
	}
	installed(t, root)
}

// TestAPK checks that the apk has the three parts that its format requires, and that its knack
// runs.
func TestAPK(t *testing.T) {
	dir, version := made(t)
	file := filepath.Join(dir, (&release{version: version}).folder(target{"linux", runtime.GOARCH})+".apk")
	packed := read(t, file)
	source := bytes.NewReader(packed)
	control, err := gzip.NewReader(source)
	if err != nil {
		t.Fatal(err)
	}
	control.Multistream(false)
	fields := t.TempDir()
	list, err := io.ReadAll(control)
	if err != nil {
		t.Fatal(err)
	}
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", fields)
	unpack.Stdin = bytes.NewReader(list)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	info := string(read(t, filepath.Join(fields, ".PKGINFO")))
	data := packed[len(packed)-source.Len():]
	for _, want := range []string{"pkgname = knack\n", "pkgver = " + version, "license = Apache-2.0\n", fmt.Sprintf("datahash = %x\n", sha256.Sum256(data))} {
		if !strings.Contains(info, want) {
			t.Errorf(".PKGINFO has no %q:\n%s", want, info)
		}
	}
	root := t.TempDir()
	if out, ok := do(t, root, nil, "tar", "-xzf", file, "--ignore-zeros"); !ok {
		t.Fatal(out)
	}
	installed(t, root)
}

// installed checks the files of a Linux package below a folder.
func installed(t *testing.T, root string) {
	t.Helper()
	for _, name := range []string{"usr/share/man/man1/knack.1.gz", "usr/share/bash-completion/completions/knack"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	knack := filepath.Join(root, "usr/bin/knack")
	m := machine{home: t.TempDir()}
	if out := m.sh(t, knack+" list"); !strings.Contains(out, "2 skills") {
		t.Error(out)
	}
	m.connects(t, knack, knack+" serve")
}

// TestBundle checks that Anthropic's mcpb unpacks and accepts each bundle, and that the server
// starts as the manifest describes.
func TestBundle(t *testing.T) {
	dir, version := made(t)
	has(t, "npx")
	for _, s := range targets {
		out := filepath.Join(t.TempDir(), "extension")
		for _, args := range [][]string{{"unpack", filepath.Join(dir, (&release{version: version}).bundleName(s)), out}, {"validate", filepath.Join(out, "manifest.json")}} {
			if text, ok := do(t, "", nil, "npx", append([]string{"-y", "@anthropic-ai/mcpb@2.1.2"}, args...)...); !ok {
				t.Fatalf("%v %s", args, text)
			}
		}
		var manifest struct {
			Server struct {
				EntryPoint string `json:"entry_point"`
				Config     struct {
					Command string
					Args    []string
				} `json:"mcp_config"`
			}
		}
		if err := json.Unmarshal(read(t, filepath.Join(out, "manifest.json")), &manifest); err != nil {
			t.Fatal(err)
		}
		program := strings.ReplaceAll(manifest.Server.Config.Command, "${__dirname}", out)
		if info, err := os.Stat(program); err != nil || info.Mode()&0o100 == 0 || program != filepath.Join(out, manifest.Server.EntryPoint) {
			t.Errorf("%s: %v %v", program, info, err)
		}
		if s == (target{"linux", runtime.GOARCH}) {
			answers(t, machine{home: t.TempDir()}.command(t, program, manifest.Server.Config.Args...))
			machine{home: t.TempDir()}.connects(t, program, program+" serve")
		}
	}
}

// TestWine checks with Wine that the program in the Windows archive lists skills, and that connect
// writes an entry that starts it.
func TestWine(t *testing.T) {
	dir, _ := made(t)
	has(t, "wine")
	has(t, "x86_64-w64-mingw32-ld")
	has(t, "unzip")
	out, ok := do(t, "../..", []string{"KNACK_WINDOWS=1", "KNACK_RELEASE=" + dir}, "go", "test", "-count=1", "-v", "-run", "TestWindows/(list|connect)$", "./interop/windows")
	if !ok || !strings.Contains(out, "--- PASS: TestWindows/connect") || !strings.Contains(out, "--- PASS: TestWindows/list") {
		t.Error(out)
	}
}
