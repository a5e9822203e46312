package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const signIn = `sign-in:
  issuer: https://login.example.com
  client-id: 4711
  client-secret-file: secret
  redirect-url: https://skills.example.com/signin/callback
  scopes: [openid, email]
  subject-claim: preferred_username
  groups-claim: roles
  session: 90m
  audiences: [agents]
`

func TestSignIn(t *testing.T) {
	want := SignIn{"https://login.example.com", "4711", "secret", "https://skills.example.com/signin/callback", []string{"openid", "email"}, []string{"agents"}, "preferred_username", "roles", 90 * time.Minute}
	got, problems := Parse([]byte(signIn))
	if diff := cmp.Diff(want, got.SignIn); diff != "" || len(problems) > 0 {
		t.Errorf("%v %s", problems, diff)
	}
	if keys := got.NeedRestart(Config{}); !cmp.Equal(keys, []string{"sign-in"}) {
		t.Error(keys)
	}
	if keys := got.NeedRestart(got); keys != nil {
		t.Error(keys)
	}
}

// TestSignInRefuses checks that each wrong line is reported with its position and a fix.
func TestSignInRefuses(t *testing.T) {
	for change, want := range map[string]string{
		"issuer: https://login.example.com => issuer: http://login.example.com":                                "2:11 sign-in.issuer: sign-in.issuer cannot be used: it must begin with https:// | write the URL of your provider, such as https://login.example.com",
		"issuer: https://login.example.com => issuer: login.example.com":                                       "2:11 sign-in.issuer: sign-in.issuer cannot be used: it is not the URL of a provider, such as https://login.example.com | write the URL of your provider, such as https://login.example.com",
		"  issuer: https://login.example.com\n => ":                                                            "2:3 sign-in.issuer: sign-in has no issuer | see 'knack help settings'",
		"issuer: https => isuer: https":                                                                        "2:3 sign-in.isuer: there is no key 'isuer' in sign-in | did you mean issuer?",
		"redirect-url: https://skills.example.com/signin/callback => redirect-url: https://skills.example.com": "5:17 sign-in.redirect-url: sign-in.redirect-url cannot be used: it is not the address of this server followed by /signin/callback | write the address by which browsers reach this server, such as https://skills.example.com/signin/callback",
		"session: 90m => session: 90":                                                                          "9:12 sign-in.session: '90' is not such a time | write hours or minutes from 5m to 168h, such as 12h",
		"session: 90m => session: 1m":                                                                          "9:12 sign-in.session: '1m' is not such a time | write hours or minutes from 5m to 168h, such as 12h",
		"scopes: [openid, email] => scopes: openid":                                                            "6:11 sign-in.scopes: sign-in.scopes is not a list | write a list: each item on its own line after a hyphen and a space, or all in [ ]",
		"client-id: 4711 => client-id:":                                                                        "3:13 sign-in.client-id: sign-in.client-id is not text | write the client id that your provider shows for this server",
	} {
		from, to, _ := strings.Cut(change, " => ")
		_, problems := Parse([]byte(strings.Replace(signIn, from, to, 1)))
		if len(problems) != 1 {
			t.Errorf("%s: %v", change, problems)
			continue
		}
		p := problems[0]
		if got := p.Position.String() + " " + p.Field + ": " + p.Message + " | " + p.Fix; got != want {
			t.Errorf("%s:\n%s\n%s", change, got, want)
		}
	}
}
