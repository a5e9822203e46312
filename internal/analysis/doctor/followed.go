package doctor

import (
	"time"
)

// Followed is the JSON form of a source that a server follows. It comes from the store's record of
// the source; the source itself is not contacted.
type Followed struct {
	Name      string     `json:"name"` // the label of its root
	From      string     `json:"from"`
	Release   string     `json:"release,omitempty"` // the digest of the release that is served
	Version   string     `json:"version,omitempty"`
	Signature string     `json:"signature,omitempty"` // the state at its last check
	Signer    string     `json:"signer,omitempty"`
	Since     *time.Time `json:"since,omitempty"` // when the release was first served
	Skills    int        `json:"skills"`
	Error     string     `json:"error,omitempty"` // why there is no release
	Fix       string     `json:"fix,omitempty"`
	// Failure is the reason why a server could not reach the source last time or rejected its
	// release.
	Failure      string     `json:"failure,omitempty"`
	FailingSince *time.Time `json:"failingSince,omitempty"`
}

// Failed describes since when and why the source is not up to date. It is "" if the source is up to
// date.
func (f Followed) Failed() string {
	if f.Failure == "" || f.FailingSince == nil {
		return f.Failure
	}
	return "not up to date since " + f.FailingSince.Format("2006-01-02 15:04:05 UTC") + ": " + f.Failure
}
