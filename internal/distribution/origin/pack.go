package origin

import "context"

// Pack is a part of a library that is fetched apart, as a layer of a release.
type Pack struct {
	Digest string // of its bytes as they are sent: "sha256:" and 64 digits
	Size   int64  // in bytes
}

// Counter is a sink that is told of skills before their files are sent. An error refuses them all.
type Counter interface {
	Sink
	Expect(skills []Skill) error
}

// Packed is a library whose skills lie in packs, each whole in one of them. A pack that was
// fetched once need not be fetched again.
type Packed interface {
	Library
	// Packs returns the packs, or nil if the library is one that can only be fetched whole.
	Packs() []Pack
	// Unpack fetches a pack, sends the files of its skills to the sink, and returns the skills by
	// path; names and descriptions are not known. moved is told of bytes that arrive, or, with a negative
	// number, that were wrong. Several packs may be unpacked at once.
	Unpack(ctx context.Context, p Pack, moved func(n int64), to Counter) ([]Skill, error)
}
