package openid_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// forged contains functions that make tokens which must not be accepted, by name. Each receives the
// claims of a valid token.
var forged = map[string]func(i *issuer, c claims) string{
	"another issuer":                func(i *issuer, c claims) string { return i.sign(with(c, "iss", "https://evil.example")) },
	"the issuer with a slash":       func(i *issuer, c claims) string { return i.sign(with(c, "iss", i.url+"/")) },
	"no issuer":                     func(i *issuer, c claims) string { return i.sign(with(c, "iss", nil)) },
	"another audience":              func(i *issuer, c claims) string { return i.sign(with(c, "aud", "another")) },
	"no audience":                   func(i *issuer, c claims) string { return i.sign(with(c, "aud", nil)) },
	"an audience that begins alike": func(i *issuer, c claims) string { return i.sign(with(c, "aud", []string{"knack2", "knac"})) },
	"expired":                       func(i *issuer, c claims) string { return i.sign(with(c, "exp", i.now().Add(-time.Second).Unix())) },
	"no expiry":                     func(i *issuer, c claims) string { return i.sign(with(c, "exp", nil)) },
	"not yet valid":                 func(i *issuer, c claims) string { return i.sign(with(c, "nbf", i.now().Add(2*time.Minute).Unix())) },
	"issued in the future":          func(i *issuer, c claims) string { return i.sign(with(c, "iat", i.now().Add(time.Hour).Unix())) },
	"an expiry that is a text": func(i *issuer, c claims) string {
		return i.sign(with(c, "exp", strconv.FormatInt(i.now().Add(time.Hour).Unix(), 10)))
	},
	"an issue time that is a text": func(i *issuer, c claims) string {
		return i.sign(with(c, "iat", strconv.FormatInt(i.now().Unix(), 10)))
	},
	"a time of validity that is a text": func(i *issuer, c claims) string {
		return i.sign(with(c, "nbf", strconv.FormatInt(i.now().Unix(), 10)))
	},
	"an expiry in other case": func(i *issuer, c claims) string { return i.sign(with(c, "EXP", i.now().Add(time.Hour).Unix())) },
	"only an expiry in other case": func(i *issuer, c claims) string {
		return i.sign(with(c, "exp", nil, "Exp", i.now().Add(time.Hour).Unix()))
	},
	"a logout token, by its header": func(i *issuer, c claims) string {
		return signed(i.key, claims{"alg": "RS256", "kid": "one", "typ": "logout+jwt"}, c)
	},
	"a logout token, in other letters": func(i *issuer, c claims) string {
		return signed(i.key, claims{"alg": "RS256", "kid": "one", "typ": "application/Logout+JWT"}, c)
	},
	"a logout token, by its claims": func(i *issuer, c claims) string {
		return i.sign(with(c, "events", claims{"http://schemas.openid.net/event/backchannel-logout": claims{}}))
	},
	"alg none":                       func(_ *issuer, c claims) string { return object(claims{"alg": "none"}) + "." + object(c) + "." },
	"alg None with a key":            func(i *issuer, c claims) string { return signed(i.key, claims{"alg": "None", "kid": "one"}, c) },
	"HS256 with the public key":      (*issuer).withSecret,
	"no signature":                   func(i *issuer, c claims) string { t := i.sign(c); return t[:strings.LastIndexByte(t, '.')+1] },
	"another key by the known name":  func(_ *issuer, c claims) string { return signed(stranger(), claims{"alg": "RS256", "kid": "one"}, c) },
	"an unknown key":                 func(_ *issuer, c claims) string { return signed(stranger(), claims{"alg": "RS256", "kid": "two"}, c) },
	"a known key by an unknown name": func(i *issuer, c claims) string { return signed(i.key, claims{"alg": "RS256", "kid": "two"}, c) },
	"a key in the token": func(_ *issuer, c claims) string {
		jwk := claims{"kty": "RSA", "n": b64(stranger().N.Bytes()), "e": "AQAB"}
		return signed(stranger(), claims{"alg": "RS256", "jwk": jwk}, c)
	},
	"a key elsewhere": func(_ *issuer, c claims) string {
		return signed(stranger(), claims{"alg": "RS256", "jku": "https://evil.example/keys", "x5u": "https://evil.example/key"}, c)
	},
	"a header that must be understood": func(i *issuer, c claims) string {
		return signed(i.key, claims{"alg": "RS256", "kid": "one", "crit": []string{"x"}, "x": 1}, c)
	},
	"other claims under the signature": func(i *issuer, c claims) string {
		t := strings.Split(i.sign(c), ".")
		return t[0] + "." + object(with(c, "email", "boss@example.com")) + "." + t[2]
	},
	"an address that is not verified": func(i *issuer, c claims) string { return i.sign(with(c, "email_verified", false)) },
	"no name":                         func(i *issuer, c claims) string { return i.sign(with(c, "email", nil)) },
	"a name that is none":             func(i *issuer, c claims) string { return i.sign(with(c, "email", []string{"anna@example.com"})) },
	"a name with a line break":        func(i *issuer, c claims) string { return i.sign(with(c, "email", "anna@example.com\nresult=ok")) },
	"groups that are no names":        func(i *issuer, c claims) string { return i.sign(with(c, "groups", []int{1})) },
	"groups that must be asked elsewhere": func(i *issuer, c claims) string {
		return i.sign(with(c, "groups", nil, "_claim_names", claims{"groups": "src"}, "_claim_sources", claims{"src": claims{"endpoint": "https://evil.example"}}))
	},
}

// with returns a copy of claims with the given pairs of name and value set. The value nil removes a
// claim.
func with(c claims, pairs ...any) claims {
	c = maps.Clone(c)
	for n := 0; n < len(pairs); n += 2 {
		c[pairs[n].(string)] = pairs[n+1]
		if pairs[n+1] == nil {
			delete(c, pairs[n].(string))
		}
	}
	return c
}

// TestForgedTokens checks that no forged token is accepted: neither from the provider at a
// sign-in, nor from a client.
func TestForgedTokens(t *testing.T) {
	for name, forge := range forged {
		t.Run(name, func(t *testing.T) {
			c := newCompany(t)
			if b := c.browser(); b.signIn().code != 303 || !b.isIn() || !c.bears(c.issuer.sign(c.issuer.claims())) {
				t.Fatal("a token without a fault is refused")
			}
			c.later(time.Minute) // so that the keys may be fetched again
			c.issuer.change(func() { c.issuer.token = func(good claims) string { return forge(c.issuer, good) } })
			b := c.browser()
			if r := b.signIn(); r.code < 400 || b.isIn() || b.cookies()[c.sessionCookie()] != "" {
				t.Errorf("a browser is let in: %d %v", r.code, b.cookies())
			} else if strings.Contains(r.body, "eyJ") || !strings.Contains(r.body, "Sign in with") {
				t.Errorf("the page: %s", r.body)
			}
			token := forge(c.issuer, c.issuer.claims())
			if c.bears(token) {
				t.Error("a client is let in")
			}
			if log := c.logged(); strings.Contains(log, token) || strings.Contains(log, "client secret") {
				t.Errorf("the log has a secret: %s", log)
			}
		})
	}
}

// attacks are the attacks on a browser's sign-in, by name. Each receives the server and the browser
// of a victim before its sign-in. It returns the attacker's gain, or "".
var attacks = map[string]func(c *company, victim *browser) (achieved string){
	"no state": func(_ *company, v *browser) string {
		return v.back(v.begin("/"), func(q url.Values) { q.Del("state") })
	},
	"another state": func(_ *company, v *browser) string {
		return v.back(v.begin("/"), func(q url.Values) { q.Set("state", strings.Repeat("A", 26)) })
	},
	"two states": func(_ *company, v *browser) string {
		return v.back(v.begin("/"), func(q url.Values) { q.Add("state", "x") })
	},
	"the attacker's answer, in a browser that began nothing": func(c *company, v *browser) string {
		return v.back(c.browser().begin("/"), nil)
	},
	"the attacker's answer, in a browser that began": func(c *company, v *browser) string {
		v.begin("/")
		return v.back(c.browser().begin("/"), nil)
	},
	"the attacker's code with the browser's own state": func(c *company, v *browser) string {
		code := c.browser().begin("/").Query().Get("code")
		return v.back(v.begin("/"), func(q url.Values) { q.Set("code", code) })
	},
	"the same, and the provider forgets the verifier": func(c *company, v *browser) string {
		c.issuer.change(func() { c.issuer.lenient = true })
		code := c.browser().begin("/").Query().Get("code")
		return v.back(v.begin("/"), func(q url.Values) { q.Set("code", code) }) // its nonce belongs to another sign-in
	},
	"a callback twice": func(c *company, v *browser) string {
		c.issuer.change(func() { c.issuer.lenient = true })
		back := v.begin("/")
		cookie := v.cookies()[c.attemptCookie()]
		if v.get(back.String()).code != 303 {
			return "nothing, even the first fails"
		}
		thief := c.browser()
		thief.set(c.attemptCookie(), cookie)
		return thief.back(back, nil)
	},
	"an old callback": func(c *company, v *browser) string {
		back := v.begin("/")
		c.later(10*time.Minute + time.Second)
		return v.back(back, nil)
	},
	"no code": func(_ *company, v *browser) string {
		return v.back(v.begin("/"), func(q url.Values) { q.Del("code") })
	},
	"a code of the attacker's": func(_ *company, v *browser) string {
		return v.back(v.begin("/"), func(q url.Values) { q.Set("code", "x&client_id=y") })
	},
	"a token instead of a code": func(c *company, v *browser) string {
		return v.back(v.begin("/"), func(q url.Values) { q.Del("code"); q.Set("id_token", c.issuer.sign(c.issuer.claims())) })
	},
	"a cookie that was changed": func(c *company, v *browser) string {
		back := v.begin("/")
		cookie := []byte(v.cookies()[c.attemptCookie()])
		cookie[20] ^= 1
		v.set(c.attemptCookie(), string(cookie))
		return v.back(back, nil)
	},
	"a cookie that was not sealed": func(c *company, v *browser) string {
		data, _ := json.Marshal(claims{"State": "s", "Nonce": "n", "Verifier": "v", "To": "/", "Ends": time.Now().Add(time.Hour).Unix()})
		v.set(c.attemptCookie(), b64(data))
		return v.back(c.browser().begin("/"), func(q url.Values) { q.Set("state", "s") })
	},
	"a cookie of the attacker's before the own": func(c *company, v *browser) string {
		v.begin("/")
		attacker := c.browser()
		back := attacker.begin("/")
		r := v.get(back.String(), "Cookie: "+c.attemptCookie()+"="+attacker.cookies()[c.attemptCookie()])
		return v.achieved(r)
	},
	"another issuer's answer": func(_ *company, v *browser) string {
		return v.back(v.begin("/"), func(q url.Values) { q.Set("iss", "https://evil.example") })
	},
	"two issuers' answer": func(c *company, v *browser) string {
		return v.back(v.begin("/"), func(q url.Values) { q["iss"] = []string{c.issuer.url, "https://evil.example"} })
	},
	"an answer without the issuer that was promised": func(c *company, v *browser) string {
		c.issuer.change(func() {
			c.issuer.describe = func(d claims) { d["authorization_response_iss_parameter_supported"] = true }
		})
		return v.back(v.begin("/"), nil)
	},
	"an error with markup": func(_ *company, v *browser) string {
		back := v.begin("/")
		q := url.Values{"state": {back.Query().Get("state")}, "error": {"<script>ran=1</script>"}, "error_description": {"<img src=x onerror=ran=1>"}, "error_uri": {"javascript:ran=1"}}
		back.RawQuery = q.Encode()
		r := v.get(back.String())
		if strings.Contains(r.body, "ran=1") {
			return "the page has the markup"
		}
		return v.achieved(r)
	},
	"an error and a code": func(_ *company, v *browser) string {
		return v.back(v.begin("/"), func(q url.Values) { q.Set("error", "access_denied") })
	},
	"a token without the nonce": func(c *company, v *browser) string {
		c.issuer.change(func() {
			c.issuer.token = func(good claims) string { return c.issuer.sign(with(good, "nonce", nil)) }
		})
		return v.back(v.begin("/"), nil)
	},
	"a token with another nonce": func(c *company, v *browser) string {
		c.issuer.change(func() {
			c.issuer.token = func(good claims) string { return c.issuer.sign(with(good, "nonce", "x")) }
		})
		return v.back(v.begin("/"), nil)
	},
	"a token for two, of another party": func(c *company, v *browser) string {
		c.issuer.change(func() {
			c.issuer.token = func(good claims) string {
				return c.issuer.sign(with(with(good, "aud", []string{"knack", "another"}), "azp", "another"))
			}
		})
		return v.back(v.begin("/"), nil)
	},
	"a token for two, of no party": func(c *company, v *browser) string {
		c.issuer.change(func() {
			c.issuer.token = func(good claims) string { return c.issuer.sign(with(good, "aud", []string{"knack", "another"})) }
		})
		return v.back(v.begin("/"), nil)
	},
	"a token for MCP, from the sign-in": func(c *company, v *browser) string {
		c.issuer.change(func() {
			c.issuer.token = func(good claims) string { return c.issuer.sign(with(good, "aud", c.base+"/mcp")) }
		})
		return v.back(v.begin("/"), nil)
	},
	"another access token": func(c *company, v *browser) string {
		c.issuer.change(func() {
			c.issuer.token = func(good claims) string { return c.issuer.sign(with(good, "at_hash", "AAAA")) }
		})
		return v.back(v.begin("/"), nil)
	},
	"no ID token": func(c *company, v *browser) string {
		c.issuer.change(func() {
			c.issuer.token = func(claims) string { return "" }
		})
		return v.back(v.begin("/"), nil)
	},
	"an answer of the provider that leads elsewhere": func(c *company, v *browser) string {
		back := v.begin("/")
		c.issuer.change(func() {
			c.issuer.answer = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, c.issuer.url+"/elsewhere", http.StatusTemporaryRedirect)
			}
		})
		did := v.back(back, nil)
		if c.issuer.times("/elsewhere") > 0 {
			return "the secret went elsewhere"
		}
		return did
	},
	"an answer of the provider without end": func(c *company, v *browser) string {
		back := v.begin("/")
		c.issuer.change(func() {
			c.issuer.answer = func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(`{"id_token":"` + strings.Repeat("x", 3<<20) + `"}`))
			}
		})
		return v.back(back, nil)
	},
	"a session that the attacker knows": func(c *company, v *browser) string {
		v.set(c.sessionCookie(), "fixed")
		if v.signIn().code != 303 || v.cookies()[c.sessionCookie()] == "fixed" {
			return "the victim has the attacker's session"
		}
		thief := c.browser()
		thief.set(c.sessionCookie(), "fixed")
		return thief.achieved(thief.get("/"))
	},
	"a session that the attacker has": func(c *company, v *browser) string {
		attacker := c.browser()
		c.issuer.change(func() { c.issuer.person = claims{"email": "eve@example.com"} })
		attacker.signIn()
		v.set(c.sessionCookie(), attacker.cookies()[c.sessionCookie()])
		c.issuer.change(func() { c.issuer.person = claims{"email": "anna@example.com", "groups": []string{"billing"}} })
		v.signIn()
		if r := attacker.get("/"); strings.Contains(r.body, "anna@example.com") || strings.Contains(r.body, "billing") {
			return "the attacker is the victim"
		}
		return ""
	},
	"the cookie as a token": func(c *company, v *browser) string {
		v.signIn()
		if c.bears(v.cookies()[c.sessionCookie()]) {
			return "it is one"
		}
		return ""
	},
	"the cookie at MCP": func(_ *company, v *browser) string {
		v.signIn()
		if r := v.ask("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Content-Type: application/json"); r.code != 401 {
			return "MCP answers"
		}
		return ""
	},
	"the cookie after signing out": func(c *company, v *browser) string {
		v.signIn()
		cookie := v.cookies()[c.sessionCookie()]
		if r := v.ask("POST", "/signout", "", "Content-Type: application/x-www-form-urlencoded", "Origin: "+c.base, "Sec-Fetch-Site: same-origin"); r.code != 303 {
			return "nothing, signing out fails"
		}
		thief := c.browser()
		thief.set(c.sessionCookie(), cookie)
		return thief.achieved(thief.get("/"))
	},
	"the cookie after its time": func(c *company, v *browser) string {
		v.signIn()
		c.later(12*time.Hour + time.Second)
		return v.achieved(v.get("/"))
	},
	"signing out from a page of others": func(c *company, v *browser) string {
		v.signIn()
		v.ask("POST", "/signout", "", "Content-Type: application/x-www-form-urlencoded", "Origin: https://evil.example", "Sec-Fetch-Site: cross-site")
		v.get("/signout")
		if !v.isIn() {
			return "the victim is signed out"
		}
		return ""
	},
	"beginning by a form": func(c *company, v *browser) string {
		if r := v.ask("POST", "/signin/begin", "to=/", "Content-Type: application/x-www-form-urlencoded"); r.code != 405 || v.cookies()[c.attemptCookie()] != "" {
			return "it begins"
		}
		return ""
	},
	"another host to begin at": func(c *company, v *browser) string {
		r := v.get("/signin/begin?to=/&again=1", "X-Forwarded-Host: evil.example", "Forwarded: host=evil.example")
		if back := c.issuer.authorize(r.to()); back.Host != strings.TrimPrefix(c.base, "http://") {
			return "the provider sends the code to " + back.Host
		}
		return ""
	},
}

// back ends a sign-in with an answer of the provider that an attacker has changed.
func (b *browser) back(at *url.URL, change func(url.Values)) (achieved string) {
	b.c.t.Helper()
	if change != nil {
		q := at.Query()
		change(q)
		at.RawQuery = q.Encode()
	}
	return b.achieved(b.get(at.String()))
}

// achieved says what an attacker who wants a session gained, judging by the server's answer. It is
// "" if the attack failed and the page says how to sign in.
func (b *browser) achieved(r reply) string {
	b.c.t.Helper()
	switch {
	case r.code < 400:
		return "it answers " + http.StatusText(r.code)
	case b.isIn():
		return "the browser is in"
	case !strings.Contains(r.body, "Sign in with"):
		return "the page does not say what to do: " + r.body
	}
	return ""
}

// TestAttacks checks that no attack on a browser's sign-in succeeds.
func TestAttacks(t *testing.T) {
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			c := newCompany(t)
			if achieved := attack(c, c.browser()); achieved != "" {
				t.Error(achieved)
			}
		})
	}
	if n := len(attacks) + len(forged); n < 30 {
		t.Errorf("there are %d attacks", n)
	}
}

// TestLeadsNowhereElse checks that a sign-in ends on this server, even if the link leads to
// another.
func TestLeadsNowhereElse(t *testing.T) {
	c := newCompany(t)
	for to, want := range map[string]string{
		"/skills/billing/?view=source": "/skills/billing/?view=source", "": "/", "/signin/begin": "/", "/signout": "/",
		"https://evil.example/": "/", "//evil.example/": "/", "///evil.example/": "/evil.example/", `/\evil.example`: "/%5Cevil.example", "https:evil.example": "/", "javascript:ran=1": "/",
		"/\t/evil.example": "/", "//evil.example@" + strings.TrimPrefix(c.base, "http://"): "/", "/" + strings.Repeat("x", 2000): "/",
	} {
		if r := c.browser(); r.get(r.begin(to).String()).to() != want {
			t.Errorf("%q leads elsewhere than to %s", to, want)
		}
	}
}

// TestTypes checks that the header of an accepted token may give the type JWT, or the type of an
// access token.
func TestTypes(t *testing.T) {
	c := newCompany(t)
	for _, kind := range []string{"JWT", "jwt", "at+jwt", "application/at+JWT", "Bearer"} {
		if !c.bears(signed(c.issuer.key, claims{"alg": "RS256", "kid": "one", "typ": kind}, c.issuer.claims())) {
			t.Errorf("a token of the type %s is refused", kind)
		}
	}
}

// TestKeysForOthers checks that a token is refused if its key is published for another purpose than
// signatures.
func TestKeysForOthers(t *testing.T) {
	for name, c := range map[string]struct {
		more claims
		good bool
	}{
		"no purpose":             {claims{"use": nil}, true},
		"signatures":             {claims{"use": "sig"}, true},
		"verification":           {claims{"key_ops": []string{"verify"}}, true},
		"encryption":             {claims{"use": "enc"}, false},
		"wrapping":               {claims{"use": nil, "key_ops": []string{"wrapKey", "encrypt"}}, false},
		"no operation":           {claims{"key_ops": []string{}}, false},
		"encryption, other case": {claims{"use": nil, "USE": "enc"}, false},
		"two purposes":           {claims{"use": "enc", "Use": "sig"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			company := newCompany(t)
			company.issuer.change(func() { company.issuer.published = c.more })
			b := company.browser()
			b.signIn()
			if got := company.bears(company.issuer.sign(company.issuer.claims())); got != c.good || b.isIn() != c.good {
				t.Errorf("a client is let in: %v, a browser: %v", got, b.isIn())
			}
		})
	}
}
