package follow

import (
	"time"

	"github.com/knack-dev/knack/internal/distribution/pull"
)

// Outcome is the result of a poll: one request to a source, and the pull that follows from it.
type Outcome string

// The outcomes.
const (
	Unchanged Outcome = "unchanged" // the source has the served release
	Pulled    Outcome = "pulled"    // a release was fetched, or the damaged parts of the served one
	Failed    Outcome = "failed"    // the source did not answer, or not with the requested content
	Refused   Outcome = "refused"   // the source has a release that must not be served
)

// Outcomes lists the outcomes in their order in metrics.
var Outcomes = []Outcome{Unchanged, Pulled, Failed, Refused}

// Status is the state of one source. Its texts are for the operator of the server and contain no
// secrets.
type Status struct {
	Name string // the label of the source's root
	From string // the source with its tag, as people write it

	// The served release. Release is empty until a release is served.
	Release   string    // the digest of the release: "sha256:…"
	Version   string    // or ""
	Signer    string    // "key:" and the digest of the public key, or ""
	Signature string    // the [trust.State] of the signature, or ""
	Since     time.Time // when this replica began to serve it
	Skills    int       // the number of its skills

	// Pending is the digest of the release that is served from At on, or empty.
	Pending string
	At      time.Time

	Asked    time.Time // when the source was last polled; zero before the first poll
	Answered time.Time // when it last answered; zero if it has not since the start
	Next     time.Time // the time of the next request
	Pulling  bool      // a pull is under way

	// Failure is the reason why the source did not answer the last poll, and the fix. It is empty
	// if the source answered. FailingSince is the time of the first failed poll since the last
	// answer.
	Failure      string
	FailingSince time.Time

	// Refused is set while the source has a refused release.
	Refused        pull.Reason
	RefusedRelease string // its digest; empty if it is not known
	RefusedReason  string // in words, with the fix

	// Counters since the start.
	Polls       map[Outcome]uint64
	Pulls       uint64        // pulls that ended with a release
	PullTime    time.Duration // in total
	LastPull    time.Duration
	Bytes       uint64 // bytes that were fetched
	Swaps       uint64
	Damaged     uint64                 // damaged skills that were found in the store
	RefusedEach map[pull.Reason]uint64 // refused releases, each counted once
}

// Action is the kind of an [Event].
type Action string

// The actions.
const (
	ActionPull     Action = "pull"
	ActionSwap     Action = "swap"
	ActionRefuse   Action = "refuse"
	ActionRollBack Action = "roll-back" // a swap to a lower version, or to the previous release
	ActionDamage   Action = "damage"    // a skill of the store does not match its digest
)

// Event is one action. A poll that changes nothing causes no event.
type Event struct {
	Time                    time.Time
	Action                  Action
	Name, From              string // as in [Status]
	Release, Before         string // digests: of the release, and of the previously served one
	Version, Signer         string // of the release
	Added, Changed, Removed int    // the numbers of skills that a swap changes
	Refusal                 pull.Reason
	Reason                  string // of a refusal or a damage
}
