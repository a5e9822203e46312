package catalog

import (
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/knack-dev/knack/skill"
)

// Fingerprints are digests of the lists of a view. If two fingerprints of a list are equal, the
// list is the same. A subscriber compares them to notice changes in its view. Changes of hidden
// skills do not change them.
type Fingerprints struct {
	Listing   skill.Digest // of the skills as a model sees them
	Served    skill.Digest // of the skills that have a URI, and their SKILL.md
	Invocable skill.Digest // of the skills that people may invoke
}

// Fingerprints returns the fingerprints of the view. They are computed once for a snapshot.
func (v View) Fingerprints() Fingerprints {
	v.fingerprintsOnce.Do(func() {
		listing, served, invocable := sha256.New(), sha256.New(), sha256.New()
		for _, e := range v.Listed {
			fmt.Fprintf(listing, "%q %q %q %q\n", e.Name, e.Description, e.Base(), e.Root.Scope)
		}
		for _, e := range v.Served() {
			fmt.Fprintf(served, "%q %q %x %s\n", e.Base(), e.Link(), e.Digest, e.Status)
		}
		for _, e := range v.Invocable() {
			fmt.Fprintf(invocable, "%q %q\n", e.Name, e.Description)
		}
		if len(v.entire().unread(nil, false)) > 0 { // a list that lacks a root must differ from the complete one
			for _, hash := range []io.Writer{listing, served, invocable} {
				fmt.Fprintln(hash, "incomplete")
			}
		}
		v.fingerprints = Fingerprints{skill.Digest(listing.Sum(nil)), skill.Digest(served.Sum(nil)), skill.Digest(invocable.Sum(nil))}
	})
	return v.fingerprints
}
