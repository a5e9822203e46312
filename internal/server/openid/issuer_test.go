package openid_test

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// claims is a JSON object.
type claims = map[string]any

// issuer is a provider that follows the protocol, except for the changes of a test.
type issuer struct {
	t      *testing.T
	url    string
	key    *rsa.PrivateKey // published
	now    func() time.Time
	server *httptest.Server

	mu        sync.Mutex
	codes     map[string]url.Values // the requests for which codes were issued
	person    claims                // the claims about the person, in every token
	token     func(claims) string   // makes the ID token; nil makes a valid one
	describe  func(claims)          // changes the description
	published claims                // changes the published key
	answer    http.HandlerFunc      // replaces the token endpoint
	down      bool
	lenient   bool // it accepts a code again, and without a verifier
	asked     map[string]int
}

// published and stranger make keys, of which the provider publishes only the first. Making a key
// takes long.
var published, stranger = sync.OnceValue(newKey), sync.OnceValue(newKey)

func newKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{t: t, key: published(), now: time.Now, codes: map[string]url.Values{}, asked: map[string]int{}, person: claims{"email": "anna@example.com", "email_verified": true, "groups": []string{"billing"}}}
	i.server = httptest.NewServer(i)
	t.Cleanup(i.server.Close)
	i.url = i.server.URL
	return i
}

// change changes the issuer between two requests.
func (i *issuer) change(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f()
}

// times returns the number of requests for a path.
func (i *issuer) times(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked[path]
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked[r.URL.Path]++
	if i.down {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		d := claims{
			"issuer": i.url, "authorization_endpoint": i.url + "/auth", "token_endpoint": i.url + "/token", "jwks_uri": i.url + "/keys",
			"end_session_endpoint": i.url + "/end", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		}
		if i.describe != nil {
			i.describe(d)
		}
		_ = json.NewEncoder(w).Encode(d)
	case "/keys":
		key := with(claims{
			"kty": "RSA", "kid": "one", "alg": "RS256", "use": "sig", "n": b64(i.key.N.Bytes()), "e": b64(big.NewInt(int64(i.key.E)).Bytes()),
		})
		for name, value := range i.published {
			key = with(key, name, value)
		}
		_ = json.NewEncoder(w).Encode(claims{"keys": []claims{key}})
	case "/token":
		i.exchange(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (i *issuer) exchange(w http.ResponseWriter, r *http.Request) {
	if i.answer != nil {
		i.answer(w, r)
		return
	}
	id, secret, _ := r.BasicAuth()
	secret, _ = url.QueryUnescape(secret) // RFC 6749, section 2.3.1
	code := r.PostFormValue("code")
	asked, ok := i.codes[code]
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	proven := subtle.ConstantTimeCompare([]byte(b64(sum[:])), []byte(asked.Get("code_challenge"))) == 1
	if id != "knack" || secret != "client secret" || !ok || !proven && !i.lenient || r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"<script>ran=1</script>"}`)
		return
	}
	if !i.lenient {
		delete(i.codes, code)
	}
	c := i.claims()
	c["nonce"] = asked.Get("nonce")
	token := i.sign(c)
	if i.token != nil {
		token = i.token(c)
	}
	_ = json.NewEncoder(w).Encode(claims{"access_token": "opaque", "token_type": "Bearer", "expires_in": 60, "id_token": token})
}

// claims returns the claims of a valid token.
func (i *issuer) claims() claims {
	c := maps.Clone(i.person)
	maps.Copy(c, claims{"iss": i.url, "aud": "knack", "sub": "1", "exp": i.now().Add(time.Hour).Unix(), "iat": i.now().Unix()})
	return c
}

// authorize acts as the provider's page on which the person agrees. It returns the address to which
// the browser is redirected.
func (i *issuer) authorize(location string) *url.URL {
	i.t.Helper()
	u, err := url.Parse(location)
	if err != nil || !strings.HasPrefix(location, i.url+"/auth?") {
		i.t.Fatalf("not the provider: %s %v", location, err)
	}
	q := u.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("client_id") != "knack" || q.Get("response_type") != "code" || len(q.Get("state")) < 20 || len(q.Get("nonce")) < 20 {
		i.t.Fatalf("a sign-in that begins so: %v", q)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	code := rand.Text()
	i.codes[code] = q
	back, err := url.Parse(q.Get("redirect_uri"))
	must(i.t, err)
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
	return back
}

func b64(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

func object(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b64(data)
}

// sign returns a validly signed token with the given claims.
func (i *issuer) sign(c claims) string { return signed(i.key, claims{"alg": "RS256", "kid": "one"}, c) }

func signed(key *rsa.PrivateKey, header, c claims) string {
	text := object(header) + "." + object(c)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return text + "." + b64(signature)
}

// withSecret returns a token that uses the published key as the secret of its HMAC.
func (i *issuer) withSecret(c claims) string {
	der, err := x509.MarshalPKIXPublicKey(&i.key.PublicKey)
	if err != nil {
		panic(err)
	}
	text := object(claims{"alg": "HS256", "kid": "one"}) + "." + object(c)
	mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	mac.Write([]byte(text))
	return text + "." + b64(mac.Sum(nil))
}
