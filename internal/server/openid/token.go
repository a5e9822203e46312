package openid

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/jsonfile"
)

// Bounds of the stored claims.
const (
	maxGroups     = 10_000
	maxGroupBytes = 512 << 10
	maxName       = 256 // bytes of a subject's name
	// leeway is the time by which the provider's clock may be ahead.
	leeway = time.Minute
)

// Verify returns the subject of a token from [Provider.Finish] or of a JWT of the issuer. No JWT is
// valid until the provider's description is known. Verify waits only for the provider's first
// answer after the start.
func (p *Provider) Verify(ctx context.Context, token string) (access.Subject, bool) {
	if who, ok := p.granted(token); ok {
		return who, true
	}
	if strings.Count(token, ".") != 2 || !strings.HasPrefix(token, "eyJ") { // {" in base64
		return access.Subject{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	d, err := p.describeNow(ctx)
	if err != nil {
		return access.Subject{}, false
	}
	t, err := p.checked(ctx, d, token)
	if err == nil && !slices.ContainsFunc(t.Audience, func(a string) bool { return slices.Contains(p.audiences, a) }) {
		err = errors.New("it is for another audience, " + display.Quote(strings.Join(t.Audience, " ")) + "; sign-in.audiences has the accepted ones")
	}
	var who access.Subject
	if err == nil {
		who, err = p.subjectOf(t)
	}
	if err != nil {
		p.warn(err)
		return access.Subject{}, false
	}
	return who, true
}

// describeNow is like describe, for a token from any client. It does not wait for a provider that
// has failed to answer so far.
func (p *Provider) describeNow(ctx context.Context) (*described, error) {
	p.mu.Lock()
	down := p.known == nil && p.failed != nil
	p.mu.Unlock()
	if down {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cancel()
	}
	return p.describe(ctx)
}

// registered contains the claims that decide whether a token is accepted (RFC 7519, section 4.1).
type registered struct {
	Issuer     string          `json:"iss"`
	Subject    string          `json:"sub"`
	Audience   json.RawMessage `json:"aud"`
	Expiry     *float64        `json:"exp"`
	IssuedAt   *float64        `json:"iat"`
	NotBefore  *float64        `json:"nbf"`
	Nonce      string          `json:"nonce"`
	Party      string          `json:"azp"`
	AccessHash string          `json:"at_hash"`
	Events     json.RawMessage `json:"events"` // claim of a security event, such as a logout (RFC 8417)
}

// isForAccess reports whether a token's header allows the token to be an access token. Only some
// kinds of JWT state their kind there (RFC 8725, section 3.11).
func isForAccess(header []byte) bool {
	var h struct {
		Type string `json:"typ"`
	}
	if jsonfile.Unmarshal(header, &h) != nil {
		return false
	}
	kind, special := strings.CutSuffix(strings.TrimPrefix(strings.ToLower(h.Type), "application/"), "+jwt")
	return !special || kind == "at"
}

// checked verifies a JWT's signature with a key of the provider, and checks its issuer and times.
// The caller checks the audience.
func (p *Provider) checked(ctx context.Context, d *described, token string) (*oidc.IDToken, error) {
	t, err := d.keys.Verify(ctx, token)
	if err != nil {
		return nil, err
	}
	// The library also accepts times as strings, and claim names in any case.
	head, text, _ := strings.Cut(token, ".")
	text, _, _ = strings.Cut(text, ".")
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("its claims are not in base64")
	}
	header, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil || !isForAccess(header) {
		return nil, errors.New("it is a token for another purpose, by its header")
	}
	var times registered
	if err := jsonfile.Unmarshal(data, &times); err != nil {
		return nil, fmt.Errorf("its claims are not as a token has them: %w", err)
	}
	if times.Events != nil {
		return nil, errors.New("it reports an event, such as a logout, and is not a token of a person")
	}
	// The library's leeway is five minutes, and it ignores iat.
	latest := p.now().Add(leeway)
	if t.IssuedAt.After(latest) || times.NotBefore != nil && *times.NotBefore > float64(latest.Unix()) {
		return nil, errors.New("it is not yet valid")
	}
	return t, nil
}

// subjectOf returns the subject of a token's claims. The errors are displayed to the person who
// signs in.
func (p *Provider) subjectOf(t *oidc.IDToken) (who access.Subject, err error) {
	var claims map[string]json.RawMessage
	if err := t.Claims(&claims); err != nil {
		return who, errors.New("its claims cannot be read")
	}
	claim := p.o.SubjectClaim
	if json.Unmarshal(claims[claim], &who.Name) != nil || strings.TrimSpace(who.Name) == "" {
		return who, errors.New("the token has no claim " + claim + ", which sign-in.subject-claim takes the name from; the provider may need another scope or setting")
	}
	if len(who.Name) > maxName || strings.ContainsFunc(who.Name, unicode.IsControl) || strings.TrimSpace(who.Name) != who.Name {
		return who, errors.New("the claim " + claim + " is not a name: it is too long, or has control characters or spaces around it")
	}
	if verified := claims["email_verified"]; claim == "email" && verified != nil && string(verified) != "true" && string(verified) != `"true"` {
		return who, errors.New("the provider has not verified the address " + display.Echo(who.Name))
	}
	who.Groups, err = p.groupsOf(claims)
	return who, err
}

// groupsOf returns the groups in a token's claims. It refuses a claim that it cannot read
// completely: a rule may deny skills to a group that would be missing from the result.
func (p *Provider) groupsOf(claims map[string]json.RawMessage) (groups []string, err error) {
	claim := p.o.GroupsClaim
	var elsewhere map[string]string
	if err := json.Unmarshal(claims["_claim_names"], &elsewhere); claims["_claim_names"] != nil && err != nil || elsewhere[claim] != "" {
		return nil, errors.New("the account is in more groups than the provider puts into a token; let the provider send only the groups that are assigned to this application")
	}
	value := claims[claim]
	if value == nil || string(value) == "null" {
		return nil, nil
	}
	if len(value) > maxGroupBytes {
		return nil, errors.New("the account is in too many groups: their names have more than 512 KiB; let the provider send only the groups that are assigned to this application")
	}
	var one string
	if json.Unmarshal(value, &one) == nil {
		groups = []string{one}
	} else if json.Unmarshal(value, &groups) != nil {
		return nil, errors.New("the claim " + claim + " is not a list of names")
	}
	if len(groups) > maxGroups {
		return nil, errors.New("the account is in more than 10,000 groups; let the provider send only the groups that are assigned to this application")
	}
	return groups, nil
}

// warn logs why a token was refused. It logs at most once per minute, since clients without a valid
// token can cause it.
func (p *Provider) warn(err error) {
	reason, now := reasonOf(err), p.now()
	p.mu.Lock()
	soon := now.Sub(p.warned) < time.Minute
	if !soon {
		p.warned = now
	}
	p.mu.Unlock()
	if !soon {
		p.o.Log.Warn("a token of the sign-in's issuer is refused; further ones are not logged for a minute", "reason", reason)
	}
}
