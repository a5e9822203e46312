package access

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/knack-dev/knack/skill"
)

// tokenPrefix marks a token as such for people and secret scanners.
const tokenPrefix = "knack_"

// Tokens contains the access tokens that a server accepts, with their subjects and expiry times. It
// stores only SHA-256 hashes. A token is 256 random bits, so its hash cannot be brute-forced and
// needs no salt.
type Tokens struct{ credentials []Credential }

// Credential is the hash of a token with the token's subject.
type Credential struct {
	Hash skill.Digest // of the token
	Subject
	Expires time.Time // the server refuses the token from then on; zero means never
}

// Expired reports whether the token has expired at a given time.
func (c Credential) Expired(at time.Time) bool { return !c.Expires.IsZero() && !at.Before(c.Expires) }

// NewTokens returns a Tokens that accepts the given credentials.
func NewTokens(credentials []Credential) *Tokens { return &Tokens{credentials} }

// With returns a Tokens that also accepts the given credentials. The receiver may be nil.
func (t *Tokens) With(credentials []Credential) *Tokens {
	if t == nil {
		return NewTokens(credentials)
	}
	return NewTokens(slices.Concat(t.credentials, credentials))
}

// SubsetOf reports whether before contains every token of t with the same subject and expiry. Then
// the only change from before to t is the removal of tokens. A nil Tokens contains no token.
func (t *Tokens) SubsetOf(before *Tokens) bool {
	byHash := func(t *Tokens) map[skill.Digest]Credential {
		all := map[skill.Digest]Credential{}
		if t != nil {
			for _, h := range t.credentials {
				all[h.Hash] = h // the last of equal hashes wins, as in Verify
			}
		}
		return all
	}
	then := byHash(before)
	for hash, s := range byHash(t) {
		if b, ok := then[hash]; !ok || b.Name != s.Name || !slices.Equal(b.Groups, s.Groups) || !b.Expires.Equal(s.Expires) {
			return false
		}
	}
	return true
}

// NewToken returns a new token and its line for a token file.
func NewToken() (token, line string) {
	var b [32]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(b[:])
	return token, skill.DigestOf([]byte(token)).String()
}

// ErrNoToken is the error of [ParseTokens] for a file without a token.
var ErrNoToken = errors.New("it has no token's hash; 'knack token new' prints one")

// Len returns the number of tokens. If it is 0, [Tokens.Verify] accepts no token.
func (t *Tokens) Len() int { return len(t.credentials) }

// ParseTokens reads a token file. Each line is a hash "sha256:…" followed by the name of the
// subject, which may have several words. Empty lines and lines that begin with # are ignored.
// Subjects of a file are in no group. An error names a line by its number and never repeats the
// line, which may be a token that someone put there by mistake.
func ParseTokens(r io.Reader) (*Tokens, error) {
	t := &Tokens{}
	in := bufio.NewScanner(r)
	n := 1
	for ; in.Scan(); n++ {
		text := in.Text()
		if n == 1 {
			text = strings.TrimPrefix(text, "\ufeff") // some editors write it at the beginning of a file
		}
		fields := strings.Fields(text)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		d, err := skill.ParseDigest(fields[0])
		if err != nil {
			return nil, fmt.Errorf("line %d is not the hash of a token, which is sha256: and 64 lower-case hexadecimal digits", n)
		}
		name := strings.Join(fields[1:], " ")
		if strings.ContainsFunc(name, unicode.IsControl) {
			return nil, fmt.Errorf("line %d has a control character in the name of the token's owner: the file may be damaged; write the name again", n)
		}
		t.credentials = append(t.credentials, Credential{Hash: d, Subject: Subject{Name: name}})
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d is longer than 64 KiB: write one hash of a token per line, as 'knack token new' prints it, and the name of its owner", n)
	} else if err != nil {
		return nil, err
	}
	if len(t.credentials) == 0 {
		return nil, ErrNoToken
	}
	return t, nil
}

// Verify returns the subject of a token. It compares every hash, in time that does
// not depend on which one matches.
func (t *Tokens) Verify(_ context.Context, token string) (Subject, bool) {
	sum := sha256.Sum256([]byte(token))
	at := -1
	for i := range t.credentials {
		at = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(t.credentials[i].Hash[:], sum[:]), i, at)
	}
	if at < 0 || t.credentials[at].Expired(time.Now()) {
		return Subject{}, false
	}
	return t.credentials[at].Subject, true
}
