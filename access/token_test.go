package access_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// TestParseTokens checks that a file is read in the forms in which editors save it. The error for a
// line of any length has its number and names no internals of the program.
func TestParseTokens(t *testing.T) {
	token, line := access.NewToken()
	tokens, err := access.ParseTokens(strings.NewReader("\ufeff" + line + " anna\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := tokens.Verify(context.Background(), token); !ok || s.Name != "anna" {
		t.Errorf("%+v %v", s, ok)
	}
	_, err = access.ParseTokens(strings.NewReader(line + "\n\n" + strings.Repeat("x", 100_000) + "\n"))
	const want = "line 3 is longer than 64 KiB: write one hash of a token per line, as 'knack token new' prints it, and the name of its owner"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestParseTokensDamaged checks that a subject's name with control characters, such as
// the zeros that a crash leaves, is an error.
func TestParseTokensDamaged(t *testing.T) {
	_, line := access.NewToken()
	for _, name := range []string{"an\x00\x00\x00", "\x1b[2Janna"} {
		const want = "line 2 has a control character in the name of the token's owner: the file may be damaged; write the name again"
		if _, err := access.ParseTokens(strings.NewReader("# one\n" + line + " " + name + "\n")); err == nil || err.Error() != want {
			t.Errorf("%q: got %v\nwant %s", name, err, want)
		}
	}
}

// TestWithin checks that SubsetOf accepts the removal of tokens, and rejects a token that now has
// another subject.
func TestWithin(t *testing.T) {
	a, b := access.Credential{Subject: access.Subject{Name: "anna", Groups: []string{"staff"}}}, access.Credential{Subject: access.Subject{Name: "bert"}}
	a.Hash[0], b.Hash[0] = 1, 2
	nameless, alone, other := a, a, a
	nameless.Name, alone.Groups, other.Name = "", nil, "bert"
	tokens := func(credentials ...access.Credential) *access.Tokens { return access.NewTokens(credentials) }
	for _, c := range []struct {
		name        string
		now, before *access.Tokens
		want        bool
	}{
		{"the same", tokens(a, b), tokens(a, b), true},
		{"one is gone", tokens(a), tokens(a, b), true},
		{"all are gone", tokens(), tokens(a, b), true},
		{"none at all", nil, nil, true},
		{"another one", tokens(a, b), tokens(a), false},
		{"the first", tokens(a), nil, false},
		{"lost its name", tokens(nameless), tokens(a), false},
		{"lost its groups", tokens(alone), tokens(a), false},
		{"is another's", tokens(other), tokens(a), false},
		{"listed twice, and the one that counts is gone", tokens(alone), tokens(alone, a), false},
		{"listed twice, and the other one is gone", tokens(a), tokens(alone, a), true},
	} {
		if got := c.now.SubsetOf(c.before); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestVerifyComparesWhole checks that Verify compares every byte of a hash.
func TestVerifyComparesWhole(t *testing.T) {
	token, _ := access.NewToken()
	whole := access.Credential{Hash: skill.DigestOf([]byte(token)), Subject: access.Subject{Name: "anna"}}
	if who, ok := access.NewTokens([]access.Credential{whole}).Verify(t.Context(), token); !ok || who.Name != "anna" {
		t.Fatalf("the token is not known: %v", who)
	}
	for i := range whole.Hash {
		near := whole
		near.Hash[i] ^= 1
		if _, ok := access.NewTokens([]access.Credential{near}).Verify(t.Context(), token); ok {
			t.Errorf("it is known by a hash with another byte %d", i)
		}
	}
}

// TestTokensExpire checks that a token is refused from its expiry day on, and not earlier.
func TestTokensExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock begins on 2000-01-01
		token, line := access.NewToken()
		hash, err := skill.ParseDigest(line)
		if err != nil {
			t.Fatal(err)
		}
		one := access.Credential{Hash: hash, Subject: access.Subject{Name: "anna"}, Expires: time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)}
		tokens := access.NewTokens([]access.Credential{one})
		testwait.Advance(24*time.Hour - time.Nanosecond)
		if _, ok := tokens.Verify(t.Context(), token); !ok {
			t.Error("it is refused too soon")
		}
		testwait.Advance(time.Nanosecond)
		if _, ok := tokens.Verify(t.Context(), token); ok {
			t.Error("it outlives its day")
		}
		later := one
		later.Expires = later.Expires.Add(time.Hour)
		if access.NewTokens([]access.Credential{later}).SubsetOf(tokens) || !tokens.SubsetOf(tokens) {
			t.Error("another end is no change")
		}
	})
}
