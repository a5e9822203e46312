package pull_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestPullBounds checks that an artifact of 1 MB with 60,000 skills is refused before any of its
// skills is written, in each form of artifact.
func TestPullBounds(t *testing.T) {
	testwait.Slow(t)
	host := registrytest.Start(t).Host
	many := registrytest.Skills{}
	for i := range 60_000 {
		many[fmt.Sprintf("s%05d/SKILL.md", i)] = fmt.Sprintf("---\nname: s%05d\ndescription: a\n---\n", i)
	}
	data := registrytest.Pack(t, many)
	at := filepath.Join(t.TempDir(), "many.tar.gz")
	if err := os.WriteFile(at, data, 0o600); err != nil {
		t.Fatal(err)
	}
	registrytest.Image(t, host, "image", "prod", nil, data)
	index := registrytest.Pack(t, registrytest.Skills{".knack/index.json": "{}"})
	registrytest.Image(t, host, "release", "prod", map[string]string{"io.github.knack-dev.release": "1"}, index, data)
	for _, source := range []string{at, "oci://" + host + "/image:prod", "oci://" + host + "/release:prod"} {
		r := newReplica(t, filepath.Join(t.TempDir(), "knack"))
		_, _, err := r.get(source)
		if pull.ReasonOf(err) != pull.Limit || !strings.Contains(fmt.Sprint(err), "there are 60,000 skills, and at most 50,000 are taken from one source") || !strings.Contains(fmt.Sprint(err), strings.TrimPrefix(source, "oci://")) {
			t.Errorf("%s of %d bytes: %q: %v", source, len(data), pull.ReasonOf(err), err)
		}
		if left := slices.Concat(r.left("skills"), r.left("tmp"), r.left("releases"), r.left("layers")); len(left) > 0 {
			t.Errorf("%s: left over: %d, as %s", source, len(left), left[0])
		}
	}
}

// TestPullBlocks checks that the blocks and inodes that small files need are counted before any
// file is written.
func TestPullBlocks(t *testing.T) {
	host := registrytest.Start(t).Host
	registrytest.Release(t, host, "a/b", "prod", 1, flat(library(100, "")), nil)
	registrytest.Image(t, host, "a/b", "image", nil, registrytest.Pack(t, flat(library(100, ""))))
	for name, c := range map[string]struct {
		room edit.Space
		want string
	}{
		"blocks": {edit.Space{Bytes: 300 << 10, Block: 4096, Inodes: -1}, " has 0.3 MB left, and the files to write may need 1.7 MB: free some space"},
		"inodes": {edit.Space{Bytes: 1 << 30, Block: 4096, Inodes: 399}, " has 399 inodes left, and writing needs 400, one for each file and folder: free some space"},
		"room":   {edit.Space{Bytes: 2 << 20, Block: 4096, Inodes: 400}, ""},
	} {
		for _, tag := range []string{"prod", "image"} {
			r := newReplica(t, filepath.Join(t.TempDir(), "knack"))
			s, err := store.Open(r.dir, store.Options{Room: func(string) (edit.Space, bool) { return c.room, true }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			r.Store = s
			_, _, err = r.get("oci://" + host + "/a/b:" + tag)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s, %s: %v", name, tag, err)
			case c.want == "":
			case pull.ReasonOf(err) != pull.Disk || !strings.Contains(fmt.Sprint(err), c.want):
				t.Errorf("%s, %s: %q: %v", name, tag, pull.ReasonOf(err), err)
			case len(r.left("skills"))+len(r.left("tmp")) > 0:
				t.Errorf("%s, %s: left over: %v", name, tag, r.left("skills"))
			}
		}
	}
}
