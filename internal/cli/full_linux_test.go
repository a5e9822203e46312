package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
	"github.com/knack-dev/knack/internal/test/registrytest"
)

// TestDiskFull checks that a command that writes to a full disk reports that, with the path that
// the user gave.
func TestDiskFull(t *testing.T) {
	registry := registrytest.Start(t)
	skills := registrytest.Skills{}
	for i := range 20 {
		name := fmt.Sprint("s", i)
		skills[name+"/SKILL.md"] = registrytest.Skill(name, "1")
	}
	registrytest.Release(t, registry.Host, "acme/skills", "prod", 1, skills, nil)
	home := t.TempDir()
	disk := filepath.Join(home, "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=16k,mode=0700"); err != nil {
		t.Skip("mounting a file system needs an administrator: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(disk, "full"), make([]byte, 16<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("disk", filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"error: the disk of ~/link/notes is full: ~/link/notes/SKILL.md was not written\nhint: free some space, or choose another folder with --dir\n", []string{"new", "notes", "--dir", "link"}},
		{"error: nothing was unpacked, since the disk of ~/link/out has 0.0 MB left, and the files to write may need 0.2 MB\nhint: free some space, or name another folder with --to\n", []string{"pull", "oci://" + registry.Host + "/acme/skills:prod", "--to", "link/out"}},
		{"error: the disk of ~/disk is full: ~/disk/knack.yaml was not written\nhint: free some space\n", []string{"config", "init", "--for", "project", "--to", "disk/knack.yaml"}},
	} {
		var out, errs bytes.Buffer
		env := console.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Environ: os.Environ(), Dir: home, Home: home}
		if code := cli.Main(t.Context(), env, c.args); code != 3 || !strings.Contains(errs.String(), c.want) || strings.Contains(errs.String(), home) {
			t.Errorf("%q: status %d\n%s", c.args, code, errs.String())
		}
	}
}
