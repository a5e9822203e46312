package config

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/server/openid"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// SignIn is the section sign-in: the OpenID Connect provider of the people and clients of
// `knack serve --http`. Issuer is empty if the file lacks the section.
type SignIn struct {
	Issuer, ClientID, ClientSecretFile, RedirectURL string
	Scopes, Audiences                               []string
	SubjectClaim, GroupsClaim                       string
	Session                                         time.Duration
}

// Bounds of a session's duration. A shorter session would end while people read, and a longer one
// would outlive changes at the provider.
const (
	minSession = 5 * time.Minute
	maxSession = 7 * 24 * time.Hour
)

var signInKeys = []key[SignIn]{
	{"issuer", "text", "", "the provider's URL, exactly as its discovery document has it; required", func(d *decoder, v frontmatter.Value, s *SignIn) {
		const fix = "write the URL of your provider, such as https://login.example.com"
		s.Issuer = d.checkedText("sign-in.issuer", v, fix, openid.CheckIssuer)
	}},
	{"client-id", "text", "", "the name under which the provider knows this server; required", func(d *decoder, v frontmatter.Value, s *SignIn) {
		if v.Kind == frontmatter.Number { // some providers use numbers as ids
			v.Kind = frontmatter.String
		}
		s.ClientID = d.text("sign-in.client-id", v, "write the client id that your provider shows for this server")
	}},
	{"client-secret-file", "text", "a public client", "a file with the client's secret; it is read at each sign-in", func(d *decoder, v frontmatter.Value, s *SignIn) {
		s.ClientSecretFile = d.text("sign-in.client-secret-file", v, writeAFile)
	}},
	{"redirect-url", "text", "", "the public address of this server followed by `" + openid.CallbackPath + "`, as it is registered at the provider; required", func(d *decoder, v frontmatter.Value, s *SignIn) {
		const fix = "write the address by which browsers reach this server, such as https://skills.example.com" + openid.CallbackPath
		s.RedirectURL = d.checkedText("sign-in.redirect-url", v, fix, openid.CheckRedirect)
	}},
	{"scopes", "list", strings.Join(openid.DefaultScopes(), ", "), "the scopes that are asked of the provider", func(d *decoder, v frontmatter.Value, s *SignIn) {
		s.Scopes = d.names("sign-in.scopes", v)
	}},
	{"subject-claim", "text", "email", "the claim that names a person, for rules and logs", func(d *decoder, v frontmatter.Value, s *SignIn) {
		s.SubjectClaim = d.text("sign-in.subject-claim", v, "write the name of a claim, such as email, preferred_username or sub")
	}},
	{"groups-claim", "text", "groups", "the claim with a person's groups, for rules", func(d *decoder, v frontmatter.Value, s *SignIn) {
		s.GroupsClaim = d.text("sign-in.groups-claim", v, "write the name of a claim, such as groups or roles")
	}},
	{"session", "duration", "12h", "how long a person stays signed in", func(d *decoder, v frontmatter.Value, s *SignIn) {
		var err error
		if s.Session, err = time.ParseDuration(v.Text); v.Kind != frontmatter.String || err != nil || s.Session < minSession || s.Session > maxSession || s.Session%time.Minute != 0 {
			d.add(ruleValue, v.Position, "sign-in.session", "write hours or minutes from 5m to 168h, such as 12h", "%s is not such a time", describe(v))
		}
	}},
	{"audiences", "list", "", "the audiences of JWTs that clients may send, besides the client id and the URL of MCP", func(d *decoder, v frontmatter.Value, s *SignIn) {
		s.Audiences = d.names("sign-in.audiences", v)
	}},
}

func decodeSignIn(d *decoder, v frontmatter.Value) (s SignIn) {
	section(d, "sign-in", v, signInKeys, &s)
	for _, name := range []string{"issuer", "client-id", "redirect-url"} {
		d.require("sign-in", v, name, "see 'knack help settings'")
	}
	return s
}

// checkedText decodes a text, and reports it if check returns an error.
func (d *decoder) checkedText(at string, v frontmatter.Value, fix string, check func(string) error) string {
	text, ok := d.textOK(at, v, fix)
	if !ok {
		return text
	}
	if err := check(text); err != nil {
		d.add(ruleValue, v.Position, at, fix, "%s cannot be used: %s", at, err)
	}
	return text
}

// Host returns the host name in redirect-url, without its port. It is empty without the section.
func (s SignIn) Host() string {
	u, err := url.Parse(s.RedirectURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// key returns a string that differs for different sections.
func (s SignIn) key() string { return fmt.Sprintf("%q", s) }
