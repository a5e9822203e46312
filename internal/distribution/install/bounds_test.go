package install_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// crowd is an origin whose libraries list more skills than one source may have.
type crowd struct{ origin.Origin }

type crowded struct {
	origin.Library
}

func (c crowd) Open(ctx context.Context, ref origin.Ref, at origin.Revision) (origin.Library, error) {
	l, err := c.Origin.Open(ctx, ref, at)
	return crowded{Library: l}, err
}

func (c crowded) Skills(context.Context) (all []origin.Skill, err error) {
	for i := range origin.MaxSkills + 1 {
		name := fmt.Sprint("s", i)
		all = append(all, origin.Skill{Path: name, Name: name, Main: "SKILL.md"})
	}
	return all, nil
}

// TestAddBounds checks that a source with too many skills causes a single refusal, before any
// download.
func TestAddBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "folder")
	w.publish(old)
	w.wrap = func(o origin.Origin) origin.Origin { return crowd{o} }
	p, err := w.planAdd(w.options(), install.Request{Sources: []string{w.source}, All: true})
	must(t, err)
	if len(p.Steps) != 1 || p.Steps[0].Problem == nil || !strings.Contains(p.Steps[0].Problem.Error(), "there are 50,001 skills, and at most 50,000 are taken from one source") {
		t.Errorf("%d steps", len(p.Steps))
	}
	_, err = w.run(w.options(), func(ctx context.Context, in *install.Installer) (*install.Plan, error) {
		_, err := in.VerifySource(ctx, w.source)
		return nil, err
	})
	if err == nil || !strings.Contains(err.Error(), w.source+": there are 50,001 skills") {
		t.Error(err)
	}
	if got := files(t, w.project()); len(got) > 0 {
		t.Error(got)
	}
}

// TestNoRoom checks that the free space for all skills is checked before the first skill is
// written.
func TestNoRoom(t *testing.T) {
	w := newWorld(t, "folder")
	w.publish(old)
	o := w.options()
	for _, c := range []struct {
		room edit.Space
		want string
	}{
		{edit.Space{Bytes: 1 << 20, Block: 4096, Inodes: 3}, "has 3 inodes left, and writing needs"},
		{edit.Space{Bytes: 4096, Block: 4096, Inodes: -1}, "has 0.0 MB left, and the files to write may need"},
	} {
		o.Room = func(string) (edit.Space, bool) { return c.room, true }
		p, err := w.add(o)
		want := "nothing was done, since the disk of " + filepath.Dir(w.place()) + " " + c.want
		if err == nil || !strings.Contains(err.Error(), want) || len(p.Steps) > 0 {
			t.Errorf("%v\nwant %s", err, want)
		}
		if diff := cmp.Diff(map[string]string{}, files(t, w.project())); diff != "" {
			t.Error(diff)
		}
	}
	o.Room = func(string) (edit.Space, bool) { return edit.Space{Bytes: 1 << 20, Block: 4096, Inodes: 100}, true }
	if p, err := w.add(o); err != nil || p.Outcome() != install.Done {
		t.Error(err)
	}
	if _, err := os.Stat(w.place()); err != nil {
		t.Error(err)
	}
}
