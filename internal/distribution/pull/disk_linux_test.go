package pull_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/test/registrytest"
)

// TestPullDiskFull checks that a disk without room for a release is reported before a layer is
// fetched, or before its skills are written. The previous release stays whole. In both cases, the
// pull succeeds once there is room.
func TestPullDiskFull(t *testing.T) {
	registry := registrytest.Start(t)
	proxy := registrytest.NewProxy(t, registry.Host)
	source := "oci://" + proxy.Host + "/a/b:prod"
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("mounting a file system needs an administrator: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	r := newReplica(t, filepath.Join(disk, "knack"))
	old := flat(library(10, "Old."))
	registrytest.Release(t, registry.Host, "a/b", "prod", 4, old, nil)
	before, _ := r.must(source)

	// Text that packs well takes more room than the check before the download assumes.
	now := flat(library(10, strings.Repeat("All work and no play. ", 20_000)))
	registrytest.Release(t, registry.Host, "a/b", "prod", 4, now, nil)
	_, _, err := r.get(source)
	if pull.ReasonOf(err) != pull.Disk || !strings.Contains(err.Error(), ": free some space") {
		t.Errorf("%q: %v", pull.ReasonOf(err), err)
	}
	// Noise does not pack.
	noise := registrytest.Skills{"x/SKILL.md": registrytest.Skill("x", ""), "x/noise": registrytest.Noise(1 << 20)}
	registrytest.Release(t, registry.Host, "a/b", "noise", 1, noise, nil)
	proxy.Set(nil)
	_, _, err = r.get(strings.Replace(source, "prod", "noise", 1))
	if pull.ReasonOf(err) != pull.Disk || !strings.Contains(err.Error(), "may need 8.") {
		t.Errorf("%q: %v", pull.ReasonOf(err), err)
	}
	for _, line := range proxy.Log() {
		if strings.Contains(line, "/blobs/") {
			t.Errorf("a layer was fetched: %s", line)
		}
	}
	if diff := cmp.Diff(old, r.files(before)); diff != "" {
		t.Error(diff)
	}
	if left := r.left("tmp"); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	got, _ := r.must(source)
	if diff := cmp.Diff(now, r.files(got)); diff != "" {
		t.Error(diff)
	}
}
