package observe

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/follow"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/server/audit"
)

// TestSource checks the audit line of each action of a source.
func TestSource(t *testing.T) {
	var lines bytes.Buffer
	log := audit.OnWriter(&lines, audit.Options{})
	at := time.Date(2026, 11, 23, 6, 7, 8, 0, time.UTC)
	record := func(e follow.Event) {
		e.Time, e.Name, e.From = at, "acme", "oci://registry.example.com/acme/skills:prod"
		Source(log, e)
	}
	record(follow.Event{Action: follow.ActionPull, Release: "sha256:02", Before: "sha256:01", Version: "1.4.0", Signer: "key:ab"})
	record(follow.Event{Action: follow.ActionSwap, Release: "sha256:02", Before: "sha256:01", Version: "1.4.0", Signer: "key:ab", Added: 3, Changed: 2, Removed: 1})
	record(follow.Event{Action: follow.ActionRefuse, Release: "sha256:00", Before: "sha256:02", Version: "1.3.0\u202e", Refusal: pull.Version, Reason: "1.3.0 is lower than 1.4.0"})
	record(follow.Event{Action: follow.ActionRollBack, Release: "sha256:01", Before: "sha256:02", Version: "1.3.0", Added: 1})
	record(follow.Event{Action: follow.ActionDamage, Release: "sha256:01", Reason: "the skill pdf is not as its digest says"})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	const begin, asked = `{"time":"2026-11-23T06:07:08Z","surface":"source","method":"`, `","asked":"oci://registry.example.com/acme/skills:prod","result":"`
	want := begin + "pull" + asked + `ok","release":"sha256:02","from":"sha256:01","version":"1.4.0","signer":"key:ab"}` + "\n" +
		begin + "swap" + asked + `ok","release":"sha256:02","from":"sha256:01","version":"1.4.0","signer":"key:ab","added":3,"changed":2,"removed":1}` + "\n" +
		begin + "refuse" + asked + `refused","reason":"version: 1.3.0 is lower than 1.4.0","release":"sha256:00","from":"sha256:02","version":"1.3.0\u202e"}` + "\n" +
		begin + "roll-back" + asked + `ok","release":"sha256:01","from":"sha256:02","version":"1.3.0","added":1}` + "\n" +
		begin + "damage" + asked + `error","reason":"the skill pdf is not as its digest says","release":"sha256:01"}` + "\n"
	if diff := cmp.Diff(want, lines.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
