package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCollect checks that Collect keeps the current and the previous release of each source, and
// releases that were served recently.
func TestCollect(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "knack")
	now := time.Now()
	o := Options{Keep: 24 * time.Hour, Now: func() time.Time { return now }}
	s := open(t, dir, o)
	later := func(d time.Duration) {
		t.Helper()
		now = now.Add(d)
		if err := s.Collect(); err != nil {
			t.Fatal(err)
		}
	}
	var all []Release
	for _, name := range []string{"1", "2", "3", "4"} {
		r := release(t, s, name, put(t, s, name), put(t, s, "same"))
		all = append(all, r)
	}
	l := layer(t, s, "l", Skill{Digest: all[0].Skills[0].Skill})
	has := func(i int) bool {
		t.Helper()
		_, err := s.Release(all[i].Digest)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if folder := s.Holds(all[i].Skills[0].Skill); folder != (err == nil) {
			t.Errorf("%d: its record is there: %v; its skill: %v", i, err == nil, folder)
		}
		if err == nil && !s.Holds(all[i].Skills[1].Skill) {
			t.Errorf("%d: a skill that all have is gone", i)
		}
		return err == nil
	}
	serve := func(i, before int) {
		t.Helper()
		if err := s.SetHead("x", Head{Release: all[i].Digest, Previous: all[before].Digest, Since: now}); err != nil {
			t.Fatal(err)
		}
	}
	serve(0, 0)
	serve(1, 0)
	later(time.Hour)
	serve(2, 1)
	later(23*time.Hour + time.Minute) // release 0 was served until 24:01 ago, 3 was recorded then
	if has(0) || !has(1) || !has(2) || has(3) {
		t.Error(has(0), has(1), has(2), has(3))
	}
	if _, err := os.Stat(s.path(layersFolder)); err != nil {
		t.Error(err)
	}
	if at, _ := s.layerFile(l.Digest); !errors.Is(func() error { _, err := os.Stat(at); return err }(), fs.ErrNotExist) {
		t.Error("the layer of a release that is gone stayed")
	}

	// A head stays as long as its process lives. After that, an unused head is removed after 30
	// days.
	later(40 * 24 * time.Hour)
	if !has(1) || !has(2) {
		t.Error("a release that is served is gone")
	}
	s.Close()
	s = open(t, dir, o)
	later(time.Minute)
	if has(1) || has(2) {
		t.Error("a release that nobody serves stayed")
	}
}

// TestCollectWaits checks that nothing is removed while the store is filled, or while another
// process uses it.
func TestCollectWaits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "knack")
	now := time.Now()
	o := Options{Keep: time.Hour, Now: func() time.Time { return now }}
	s := open(t, dir, o)
	k := put(t, s, "old")
	now = now.Add(48 * time.Hour)
	there := func(want bool, when string) {
		t.Helper()
		if err := s.Collect(); err != nil {
			t.Error(err)
		}
		if s.Holds(k.Digest) != want {
			t.Errorf("%s: the skill is there: %v", when, !want)
		}
	}
	b := begin(t, s)
	there(true, "a batch is open")
	b.Close()
	b.Close()
	other := open(t, dir, o)
	if _, err := other.Find(k.Digest); err != nil {
		t.Fatal(err)
	}
	now = now.Add(48 * time.Hour)
	there(true, "another process uses the store")
	other.Close()
	there(false, "nothing uses the store")
}
