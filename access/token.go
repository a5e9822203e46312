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
	"unicode"

	"github.com/knack-dev/knack/skill"
)

// tokenPrefix makes a token known for one, to people and to scanners for secrets.
const tokenPrefix = "knack_"

// Tokens are the access tokens that a server accepts, with their subjects. It
// holds their SHA-256 alone: tokens are 256 random bits, so that a hash cannot be
// tried out and needs no salt.
type Tokens struct{ held []Holder }

// Holder is whose a token is.
type Holder struct {
	Hash skill.Digest // of the token
	Subject
}

// NewTokens accepts the tokens of some holders.
func NewTokens(held []Holder) *Tokens { return &Tokens{held} }

// With accepts those of more holders too. The receiver may be nil.
func (t *Tokens) With(held []Holder) *Tokens {
	if t == nil {
		return NewTokens(held)
	}
	return NewTokens(slices.Concat(t.held, held))
}

// Within reports whether each token is one of before too, and whose it was then: at
// most some are taken away. Either may be nil, which accepts none.
func (t *Tokens) Within(before *Tokens) bool {
	subjects := func(t *Tokens) map[skill.Digest]Subject {
		all := map[skill.Digest]Subject{}
		if t != nil {
			for _, h := range t.held {
				all[h.Hash] = h.Subject // of several the last, as in Verify
			}
		}
		return all
	}
	then := subjects(before)
	for hash, s := range subjects(t) {
		if b, ok := then[hash]; !ok || b.Name != s.Name || !slices.Equal(b.Groups, s.Groups) {
			return false
		}
	}
	return true
}

// NewToken makes a token and the line by which a token file knows it.
func NewToken() (token, line string) {
	var b [32]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(b[:])
	return token, skill.DigestOf([]byte(token)).String()
}

// ParseTokens reads a token file: one "sha256:…" a line, after it whose it is, in
// words that are the subject's name; empty lines and those that begin with # say
// nothing. Subjects of a file are in no group.
// The error names a line by its number and never repeats it: it may be a token
// that somebody put there by mistake.
func ParseTokens(r io.Reader) (*Tokens, error) {
	t := &Tokens{}
	in := bufio.NewScanner(r)
	n := 1
	for ; in.Scan(); n++ {
		text := in.Text()
		if n == 1 {
			text = strings.TrimPrefix(text, "\ufeff") // as some editors begin a file
		}
		fields := strings.Fields(text)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		d, err := skill.ParseDigest(fields[0])
		if err != nil {
			return nil, fmt.Errorf("line %d is no hash of a token: want sha256: and 64 lower-case hexadecimal digits, as 'knack config token' prints", n)
		}
		name := strings.Join(fields[1:], " ")
		if strings.ContainsFunc(name, unicode.IsControl) {
			return nil, fmt.Errorf("line %d has a control character in whose the token is: the file may be damaged; write the name anew", n)
		}
		t.held = append(t.held, Holder{d, Subject{Name: name}})
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d is longer than 64 KiB: write one hash of a token a line, as 'knack config token' prints it, and whose it is", n)
	} else if err != nil {
		return nil, err
	}
	if len(t.held) == 0 {
		return nil, errors.New("it holds no token's hash; 'knack config token' prints one")
	}
	return t, nil
}

// Verify finds a token's subject. Every hash is compared, in time that does not
// depend on which one is equal.
func (t *Tokens) Verify(_ context.Context, token string) (Subject, bool) {
	sum := sha256.Sum256([]byte(token))
	at := -1
	for i := range t.held {
		at = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(t.held[i].Hash[:], sum[:]), i, at)
	}
	if at < 0 {
		return Subject{}, false
	}
	return t.held[at].Subject, true
}
