package origin

import "context"

// Pack is a separately fetched part of a library, such as a layer of a release.
type Pack struct {
	Digest string // of its bytes as they are sent: "sha256:" and 64 digits
	Size   int64  // in bytes
}

// Counter is a sink that gets the list of skills before their files. An error refuses all of them.
type Counter interface {
	Sink
	Expect(skills []Skill) error
}

// Packed is a library whose skills are in packs, each skill completely in one pack. A pack that
// was fetched before need not be fetched again.
type Packed interface {
	Library
	// Packs returns the packs, or nil if the library can only be fetched whole.
	Packs() []Pack
	// Unpack fetches a pack, sends the files of its skills to the sink, and returns the skills by
	// path. Names and descriptions are not set. moved is called with the number of bytes that
	// arrive, and with a negative number to take back bytes that were wrong. Several packs may be
	// unpacked concurrently.
	Unpack(ctx context.Context, p Pack, moved func(n int64), to Counter) ([]Skill, error)
}
