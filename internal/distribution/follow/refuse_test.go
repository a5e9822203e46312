package follow_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/distribution/follow"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/distribution/release"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// pass waits for two polls.
func (w *world) pass() { testwait.Advance(75 * time.Second) }

// TestForwardOnly checks that a tag may move back to a lower version only without forward-only.
// Both cases are reported.
func TestForwardOnly(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.has("1.4.0", "key:a")
		w.start()
		w.pass()
		w.has("1.3.0", "key:a")
		w.pass()
		w.want("events", &w.events, "pull 1.4.0", "swap 1.4.0", "pull 1.3.0", "roll-back 1.3.0")
		if !strings.Contains(w.log.String(), "a release with a lower version is served") {
			t.Error(w.log.String())
		}
		w.has("1.4.0", "key:a")
		w.pass()
		w.end()

		// Start again with the same store.
		w.source.ForwardOnly = true
		w.took(&w.events)
		w.took(&w.served)
		w.log.Reset()
		w.start()
		w.wantServed("served at the start:", "1.4.0")
		w.has("1.3.0", "key:a")
		w.pass()
		w.pass()
		w.want("events", &w.events, "refuse 1.3.0 version")
		w.want("served", &w.served)
		s := w.f.Status()
		if s.Refused != pull.Version || s.RefusedRelease != w.tag.Digest || s.Version != "1.4.0" || s.RefusedEach[pull.Version] != 1 || s.Polls[follow.Refused] < 4 {
			t.Errorf("%+v", s)
		}
		if want := "the version 1.3.0 is lower than 1.4.0, which was served before, and forward-only is set: publish the content as a new version"; s.RefusedReason != want || strings.Count(w.log.String(), want) != 1 {
			t.Errorf("%s\n%s", s.RefusedReason, &w.log)
		}
		pulls := w.pulls
		w.pass()
		if w.pulls != pulls {
			t.Error("what is refused for good was fetched again")
		}

		// One release has no verified signature, and the other no version.
		w.has("1.2.0", "")
		w.pass()
		w.has("", "key:a")
		w.pass()
		w.want("events", &w.events, "refuse 1.2.0 version", "refuse  version")
		// A release by another signer must not have a lower version either.
		w.has("1.3.9", "key:b")
		w.pass()
		w.has("1.4.1", "key:b")
		w.pass()
		w.has("1.3.9", "key:a")
		w.pass()
		w.has("1.5.0-rc.1", "key:a")
		w.pass()
		w.want("events", &w.events, "refuse 1.3.9 version", "pull 1.4.1", "swap 1.4.1", "refuse 1.3.9 version", "pull 1.5.0-rc.1", "swap 1.5.0-rc.1")
		if s := w.f.Status(); s.Refused != "" || s.RefusedReason != "" || s.RefusedRelease != "" {
			t.Errorf("%+v", s)
		}
		w.end()

		// A key that is no longer trusted holds back only unsigned releases, not the releases of
		// other keys.
		w.trusts = func(signer string) bool { return signer != "key:a" }
		w.start()
		w.took(&w.events)
		w.has("1.4.0", "key:b")
		w.pass()
		w.has("1.4.9", "")
		w.pass()
		w.has("1.4.2", "key:b")
		w.pass()
		w.want("events", &w.events, "refuse 1.4.0 version", "refuse 1.4.9 version", "pull 1.4.2", "roll-back 1.4.2")
	})
}

// TestHeadUnread checks that a replica with forward-only serves no release while it cannot read its
// record of the last served release. After it can read the record, it serves that release again.
// Without forward-only, the replica starts afresh.
func TestHeadUnread(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.source.ForwardOnly = true
		w.has("1.4.0", "")
		w.start()
		w.pass()
		w.end()
		heads, err := filepath.Glob(filepath.Join(w.dir, "heads", "*"))
		if err != nil || len(heads) != 1 {
			t.Fatal(heads, err)
		}
		right, err := os.ReadFile(heads[0])
		if err != nil {
			t.Fatal(err)
		}
		write := func(data []byte) {
			if err := os.WriteFile(heads[0], data, 0o600); err != nil {
				t.Error(err)
			}
		}
		w.took(&w.events)
		w.took(&w.served)
		w.has("1.3.0", "")
		write(right[:len(right)-9])
		w.start()
		w.pass()
		w.want("served", &w.served)
		w.want("events", &w.events, "refuse  disk")
		s := w.f.Status()
		if want := "remove heads/" + filepath.Base(heads[0]); s.Refused != pull.Disk || !strings.Contains(s.RefusedReason, want) || strings.Count(w.log.String(), want) != 1 {
			t.Errorf("%+v\n%s", s, &w.log)
		}
		write(right)
		w.pass()
		w.wantServed("served:", "1.4.0")
		w.want("events", &w.events, "refuse 1.3.0 version")
		w.end()

		w.source.ForwardOnly = false
		write(nil)
		w.start()
		w.want("events", &w.events, "pull 1.3.0", "swap 1.3.0")
	})
}

// pulled makes the source's release the head, as knack pull does with the store of a server.
func (w *world) pulled() {
	w.t.Helper()
	h, err := w.store.Head(w.source.Ref.String())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	r := w.tag
	h = release.Next(h, r, time.Now())
	if err := errors.Join(w.store.Record(r), w.store.SetHead(w.source.Ref.String(), h)); err != nil {
		w.t.Fatal(err)
	}
}

// TestPulledBeside checks that a server with forward-only serves the last allowed release at its
// start if knack pull has set a lower one. The server also refuses each version that is lower than
// a version that knack pull has fetched.
func TestPulledBeside(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.source.ForwardOnly = true
		w.has("1.4.0", "key:a")
		w.pulled()
		w.start()
		w.pass()
		w.wantServed("served at the start:", "1.4.0")
		w.has("1.3.0", "key:a")
		w.pass()
		w.want("events", &w.events, "refuse 1.3.0 version")
		w.end()
		for _, version := range []string{"1.3.0", ""} {
			w.has(version, "key:a")
			w.pulled()
			w.start()
			w.pass()
			w.wantServed("served at the start:", "1.4.0")
			w.want("events", &w.events, "refuse "+version+" version")
			if h, err := w.store.Head(w.source.Ref.String()); err != nil || h.Version != "1.4.0" {
				t.Errorf("the head is %+v, %v", h, err)
			}
			w.end()
		}
		if text := w.log.String(); !strings.Contains(text, "the last release that is allowed is served in its place") || !strings.Contains(text, "the version 1.3.0 is lower than 1.4.0") {
			t.Error(text)
		}
		w.has("1.4.1", "key:a")
		w.start()
		w.pass()
		w.want("events", &w.events, "pull 1.4.1", "swap 1.4.1")
	})
	// Versions that only knack pull has fetched count too, even if many other versions came after
	// them.
	live(t, func(t *testing.T, w *world) {
		w.source.ForwardOnly = true
		for _, version := range []string{"2.1.0", "1.0.5", "1.0.4", "1.0.3", "1.0.2", "1.0.1", "1.0.0"} {
			w.has(version, "key:a")
			w.pulled()
		}
		w.start()
		w.pass()
		w.want("served", &w.served)
		w.want("events", &w.events, "refuse 1.0.0 version")
	})
	// Without forward-only, a pulled release is served. With it, a library without versions is
	// served too.
	for _, forward := range []bool{false, true} {
		live(t, func(t *testing.T, w *world) {
			versions := []string{"1.4.0", "1.3.0"}
			if w.source.ForwardOnly = forward; forward {
				versions = []string{""}
			}
			for _, version := range versions {
				w.has(version, "")
				w.pulled()
				w.start()
				if got := w.took(&w.served); len(got) != 1 || !strings.HasPrefix(got[0], version+"@") {
					t.Errorf("forward-only %t, %q: served at the start: %q", forward, version, got)
				}
				w.end()
			}
		})
	}
}

// TestJudgedBeside checks that the first poll records the signature of the served release. It does
// not record that signature for another release that knack pull has made the head.
func TestJudgedBeside(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.has("1.4.0", "key:a")
		w.pulled()
		w.set(func() { w.err = errors.New("down") })
		w.start()
		served := w.tag
		w.has("1.3.0", "key:a")
		w.pulled()
		served.Signer = "key:b"
		w.set(func() { w.tag, w.err = served, nil })
		w.pass()
		if h, err := w.store.Head(w.source.Ref.String()); err != nil || h.Release != served.Digest || h.Version != "1.4.0" || h.Signer != "key:b" {
			t.Errorf("%+v, %v", h, err)
		}
	})
}

// TestMinVersion checks that min-version applies to a replica with and without history.
func TestMinVersion(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.source.MinVersion = "1.4.0"
		w.has("1.3", "")
		w.start()
		w.pass()
		w.want("events", &w.events, "refuse 1.3 version")
		if name, why := (follow.Group{w.f}).Waits(); name != "" {
			t.Error(why)
		}
		w.want("what is lacking", &w.lacks, "its release is refused since 2000-01-01 00:00:00 UTC")
		w.has("1.4", "")
		w.pass()
		w.want("events", &w.events, "pull 1.4", "swap 1.4")
		w.end()
		w.source.MinVersion = "2.0.0"
		w.took(&w.served)
		w.start()
		w.want("served", &w.served)
		w.end()
		w.source.MinVersion = ""
		w.admit = func(store.Release) error { return errors.New("not signed") }
		w.set(func() { w.err = errors.New("down") })
		w.start()
		w.want("served", &w.served)
	})
}

// TestRefused checks that each reason for refusing a release is reported once.
func TestRefused(t *testing.T) {
	for reason, err := range map[pull.Reason]error{
		pull.Gone:     origin.Mark(origin.ErrGone, errors.New("it has no tag prod")),
		pull.NoSkills: origin.Mark(origin.ErrNoSkills, errors.New("it has no skills")),
		pull.Limit:    origin.Mark(origin.ErrLimit, errors.New("it has 10,001 layers")),
		pull.Disk:     &store.Fault{Dir: "/var/lib/knack", Err: os.ErrPermission},
	} {
		t.Run(string(reason), func(t *testing.T) {
			live(t, func(t *testing.T, w *world) {
				w.has("1.0.0", "")
				w.start()
				w.took(&w.events)
				w.log.Reset()
				w.has("1.1.0", "")
				w.set(func() { w.refuse = fmt.Errorf("pull: %w", err) })
				testwait.Advance(20 * time.Minute)
				w.want("events", &w.events, strings.TrimSpace("refuse  "+string(reason)))
				s := w.f.Status()
				if s.Refused != reason || s.RefusedReason == "" || s.RefusedRelease != w.tag.Digest || s.Version != "1.0.0" || s.RefusedEach[reason] != 1 || s.Failure != "" {
					t.Errorf("%+v", s)
				}
				if n := strings.Count(w.log.String(), "\n"); n != 1 {
					t.Errorf("%d lines:\n%s", n, &w.log)
				}
				w.has("1.2.0", "")
				w.set(func() { w.refuse = nil })
				testwait.Advance(6 * time.Minute)
				w.want("events", &w.events, "pull 1.2.0", "swap 1.2.0")
			})
		})
	}
}

// TestRefusedUntilAsked checks that a release that was refused for good is fetched again only if a
// person requests a poll. A broken proxy may have sent a page in place of the release.
func TestRefusedUntilAsked(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.has("1.0.0", "")
		w.start()
		w.pass()
		w.took(&w.events)
		w.has("1.1.0", "")
		w.set(func() { w.refuse = origin.Mark(origin.ErrLimit, errors.New("it has more than 4 MiB")) })
		w.pass()
		w.want("events", &w.events, "refuse  limit")
		pulls := w.pulls
		w.set(func() { w.refuse = nil })
		w.pass()
		if w.pulls != pulls {
			t.Error("it is fetched again and again")
		}
		w.f.Ask()
		w.pass()
		w.want("events", &w.events, "pull 1.1.0", "swap 1.1.0")
	})
}

// TestDamageBesideRefusal checks that damaged files of the served release are fetched again, even
// if the tag names a release that is refused.
func TestDamageBesideRefusal(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.source.ForwardOnly = true
		w.has("1.4.0", "")
		w.start()
		d := w.tag.Skills[0].Skill
		w.has("1.3.0", "")
		w.pass()
		w.took(&w.served)
		w.f.Damaged(d, "pdf")
		synctest.Wait()
		refused := w.tag
		w.has("1.4.0", "") // brings it back, as a pull does
		w.set(func() { w.tag, w.old = refused, w.tag })
		w.pass()
		w.wantServed("served:", "1.4.0")
		if s := w.f.Status(); s.Refused != pull.Version || s.Damaged != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestDamageAndGone checks that the next release is served even if the served release is damaged
// and gone from the registry.
func TestDamageAndGone(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.has("1.0.0", "")
		w.start()
		w.set(func() { w.lost = w.tag.Revision })
		w.f.Damaged(w.tag.Skills[0].Skill, "pdf")
		w.pass()
		if s := w.f.Status(); s.Refused != pull.Gone || s.Version != "1.0.0" {
			t.Errorf("with the tag as it was: %+v", s)
		}
		w.has("1.1.0", "")
		w.pass()
		w.want("events", &w.events, "pull 1.0.0", "swap 1.0.0", "damage 1.0.0", "refuse  gone", "pull 1.1.0", "swap 1.1.0")
		if s := w.f.Status(); s.Refused != "" || s.Version != "1.1.0" {
			t.Errorf("%+v", s)
		}
	})
}

// TestMovesBack checks that nothing changes if a tag moves and moves back between two polls.
func TestMovesBack(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.has("1.0.0", "")
		w.start()
		w.has("1.1.0", "")
		testwait.Advance(32 * time.Second)
		if w.f.Status().Pending == "" {
			t.Fatal("nothing waits")
		}
		w.has("1.0.0", "")
		w.f.Ask()
		w.pass()
		w.want("events", &w.events, "pull 1.0.0", "swap 1.0.0", "pull 1.1.0")
		if s := w.f.Status(); s.Pending != "" || s.Version != "1.0.0" {
			t.Errorf("%+v", s)
		}
	})
}

// TestJudgedAgain checks that the first poll after a start judges the signature of the served
// release again, since the section trust may have changed. After that poll, the status has the new
// signer, or no signer if the key is no longer trusted.
func TestJudgedAgain(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.has("1.0.0", "key:a")
		w.start()
		if w.looks > 0 {
			t.Error("a first release was judged twice")
		}
		w.end()
		for _, signer := range []string{"", "key:b"} {
			w.set(func() { w.tag.Signer, w.looks, w.pulls = signer, 0, 0 })
			w.start()
			w.pass()
			if s := w.f.Status(); s.Signer != signer || s.Version != "1.0.0" || w.looks != 1 || w.pulls > 0 {
				t.Errorf("%q: %d times judged, %d pulls: %+v", signer, w.looks, w.pulls, s)
			}
			w.end()
			if h, err := w.store.Head(w.source.Ref.String()); err != nil || h.Signer != signer {
				t.Errorf("%+v, %v", h, err)
			}
		}
		w.trusts = func(string) bool { return false }
		w.set(func() { w.err = errors.New("down") })
		w.start()
		if s := w.f.Status(); s.Signer != "" || s.Signature != "" || s.Version != "1.0.0" {
			t.Errorf("a key that is not trusted: %+v", s)
		}
		w.end()
		w.trusts = nil
		w.took(&w.events)
		w.set(func() { w.err, w.refuse = nil, &trust.Refusal{Message: "it has an invalid signature"} })
		w.start()
		w.pass()
		w.want("events", &w.events, "refuse  signature")
		if s := w.f.Status(); s.Refused != pull.Signature || s.RefusedReason != "it has an invalid signature" || s.Version != "1.0.0" {
			t.Errorf("%+v", s)
		}
		w.set(func() { w.refuse = nil })
		w.pass()
		if s := w.f.Status(); s.Refused != "" {
			t.Errorf("%+v", s)
		}
	})
}
