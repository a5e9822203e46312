package openid

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"time"

	"github.com/knack-dev/knack/access"
)

// The bounds of the grants and of the used states.
const (
	maxGrants      = 4096
	maxGrantsOfOne = 16
	maxHeld        = 32 << 20 // bytes of all group names
	maxUsed        = 4096
)

// grant is a person's sign-in. Its token is 256 random bits.
type grant struct {
	key  [sha256.Size]byte // the hash of the token, so that the token itself is never compared
	who  access.Subject
	ends time.Time
	size int
}

// grant returns a new token for a subject. If the subject has too many grants, its oldest one ends.
// If there are too many grants in all, the oldest of all end.
func (p *Provider) grant(who access.Subject) (token string) {
	var b [32]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	token = base64.RawURLEncoding.EncodeToString(b[:])
	p.mu.Lock()
	defer p.mu.Unlock()
	g := &grant{key: sha256.Sum256([]byte(token)), who: who, ends: p.now().Add(p.o.Session)}
	p.expire()
	sameName, oldest, total := 0, 0, 0
	for i := len(p.grants) - 1; i >= 0; i-- {
		other := p.grants[i]
		total += other.size
		if other.who.Name != who.Name {
			continue
		}
		sameName, oldest = sameName+1, i
		if slices.Equal(other.who.Groups, who.Groups) {
			g.who.Groups = other.who.Groups // share equal groups, which may be long
		}
	}
	for _, group := range who.Groups {
		g.size += len(group) + 16
	}
	if sameName >= maxGrantsOfOne {
		total -= p.grants[oldest].size
		p.drop(oldest, oldest+1)
	}
	for len(p.grants) > 0 && (len(p.grants) >= maxGrants || total+g.size > maxHeld) {
		total -= p.grants[0].size
		p.drop(0, 1)
	}
	p.grants = append(p.grants, g)
	p.byKey[g.key] = g
	return token
}

// granted returns the subject of a token that grant returned.
func (p *Provider) granted(token string) (access.Subject, bool) {
	if len(token) != 43 {
		return access.Subject{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	if g := p.byKey[sha256.Sum256([]byte(token))]; g != nil {
		return g.who, true
	}
	return access.Subject{}, false
}

// Session returns the time for which a person stays signed in.
func (p *Provider) Session() time.Duration { return p.o.Session }

// End ends the sign-in whose token is from [Provider.Finish]. It reports whether the token was
// valid.
func (p *Provider) End(token string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.byKey[sha256.Sum256([]byte(token))]
	if g != nil {
		i := slices.Index(p.grants, g)
		p.drop(i, i+1)
	}
	return g != nil
}

// drop removes the grants with the indexes [from,to). The caller holds the lock.
func (p *Provider) drop(from, to int) {
	for _, g := range p.grants[from:to] {
		delete(p.byKey, g.key)
	}
	p.grants = slices.Delete(p.grants, from, to)
}

// expire removes expired grants. The caller holds the lock.
func (p *Provider) expire() {
	now := p.now()
	over := 0 // grants end in the order in which they began
	for over < len(p.grants) && !now.Before(p.grants[over].ends) {
		over++
	}
	p.drop(0, over)
}

// usedState is the hash of a state with which a person has signed in.
type usedState struct {
	key  [sha256.Size]byte
	ends time.Time
}

// use marks a state as used. It returns false if the state was used before.
func (p *Provider) use(state string, ends time.Time) bool {
	key := sha256.Sum256([]byte(state))
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.used = slices.DeleteFunc(p.used, func(u usedState) bool { return !now.Before(u.ends) })
	if slices.ContainsFunc(p.used, func(u usedState) bool { return u.key == key }) {
		return false
	}
	if len(p.used) >= maxUsed {
		p.used = slices.Delete(p.used, 0, 1)
	}
	p.used = append(p.used, usedState{key, ends})
	return true
}
