package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
)

// Digest is the SHA-256 of a file's raw bytes.
type Digest [sha256.Size]byte

const digestPrefix = "sha256:"

// errDigest is returned for a text that is not a digest.
var errDigest = errors.New("not a digest: it must be sha256: and 64 lower-case hexadecimal digits")

// DigestOf hashes bytes.
func DigestOf(data []byte) Digest { return sha256.Sum256(data) }

// String returns "sha256:" and 64 lower-case hexadecimal digits (SEP-2640).
func (d Digest) String() string {
	var b [len(digestPrefix) + 2*len(d)]byte
	copy(b[:], digestPrefix)
	hex.Encode(b[len(digestPrefix):], d[:])
	return string(b[:])
}

// MarshalText implements [encoding.TextMarshaler] with the form that String returns.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. See [ParseDigest].
func (d *Digest) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDigest(string(text))
	return err
}

// ParseDigest parses the form that String returns and no other.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	h, ok := strings.CutPrefix(s, digestPrefix)
	if !ok || len(h) != 2*len(d) || strings.ToLower(h) != h {
		return d, errDigest
	}
	if _, err := hex.Decode(d[:], []byte(h)); err != nil {
		return d, errDigest
	}
	return d, nil
}
