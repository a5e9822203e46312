package oci

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/test/registrytest"
)

// secret is the password of the user anna at the registries of the tests. No message may contain
// its first letters.
const secret = "CANARY-password"

// passwords returns the path of a htpasswd file with the user anna.
func passwords(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "passwords")
	if err := os.WriteFile(file, []byte("anna:$2a$04$CaSJEeUR6NCGTmSfyLxKG.FWVyUSbVXbHWztJQAJ/YzjX9kVGEm6G\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// dockerConfig writes a config.json of docker, and returns its path.
func dockerConfig(t *testing.T, format string, args ...any) string {
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, format, args...), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// helper writes a credential helper and returns its folder.
func helper(t *testing.T, script string) string {
	if runtime.GOOS == "windows" {
		t.Skip("the helper of the test is a shell script")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker-credential-test"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func basic(password string) string {
	return base64.StdEncoding.EncodeToString([]byte("anna:" + password))
}

// TestCredentials checks that the credentials in docker's configuration give access to a registry,
// and that no error repeats them.
func TestCredentials(t *testing.T) {
	for _, name := range []string{registrytest.Distribution, registrytest.DockerRegistry} {
		t.Run(name, func(t *testing.T) {
			host := registrytest.Open(t, name, passwords(t))
			publisher{t: t, host: host, user: "anna:" + secret}.image("acme/pdf", "v1", gz(tarOf(t, "pdf/SKILL.md", skillMD("pdf"))))
			for name, c := range map[string]struct {
				config string // with HOST and FILE
				helper string
				want   string
			}{
				"the file":         {config: `{"auths":{"HOST":{"auth":"` + basic(secret) + `"}}}`},
				"a helper":         {config: `{"credHelpers":{"HOST":"test"}}`, helper: `echo CANARY >&2; printf '{"Username":"anna","Secret":"` + secret + `"}'`},
				"nothing":          {config: `{}`, want: "HOST denies access to acme/pdf (401 Unauthorized), or there is no such repository: FILE has no credentials for it; log in with: docker login HOST"},
				"another password": {config: `{"auths":{"HOST":{"auth":"` + basic("CANARY-other") + `"}}}`, want: "HOST denies access to acme/pdf (401 Unauthorized), or there is no such repository: it does not take the credentials that FILE has for it; log in again with: docker login HOST"},
				"a helper fails":   {config: `{"credsStore":"test"}`, helper: `echo CANARY; echo CANARY >&2; exit 1`, want: "HOST asks for credentials: docker-credential-test, which FILE names, gave no credentials for HOST: it ended with exit status 1; see why with: echo HOST | docker-credential-test get"},
			} {
				t.Run(name, func(t *testing.T) {
					opts, _ := options(t)
					opts.Config = dockerConfig(t, "%s", strings.ReplaceAll(c.config, "HOST", host))
					opts.Environ = []string{"PATH=" + os.Getenv("PATH")}
					if c.helper != "" {
						opts.Path = helper(t, c.helper)
					}
					ref, _ := origin.Parse("oci://"+host+"/acme/pdf:v1", "", "")
					o := New(opts)
					_, resolveErr := o.Resolve(t.Context(), ref)
					_, _, err := install(t, o, ref.String())
					for _, err := range []error{resolveErr, err} {
						text := ""
						if err != nil {
							text = strings.NewReplacer(host, "HOST", opts.Config, "FILE").Replace(err.Error())
						}
						if text != c.want {
							t.Errorf("%q, want %q", text, c.want)
						}
					}
				})
			}
		})
	}
}

// tokens is a registry with a sign-in service. Its first token expires after a few requests.
type tokens struct {
	*proxy
	mu      sync.Mutex
	good    map[string]int // the number of requests that each token still allows
	given   int
	refresh string // the identity token that is accepted instead of a password
}

func newTokens(t *testing.T, host string) *tokens {
	s := &tokens{good: map[string]int{}}
	s.proxy = newProxy(t, host, func(w http.ResponseWriter, r *http.Request, _ int) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.URL.Path == "/token" {
			s.give(w, r)
			return true
		}
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if s.good[token] > 0 {
			s.good[token]--
			r.Header.Del("Authorization")
			return false
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+s.URL+`/token",service="knack",scope="repository:acme/pdf:pull"`)
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"errors":[{"code":"UNAUTHORIZED","message":"`+token+`"}]}`)
		return true
	})
	return s
}

func (s *tokens) give(w http.ResponseWriter, r *http.Request) {
	_, password, _ := r.BasicAuth()
	if r.FormValue("scope") != "repository:acme/pdf:pull" || password != secret && (s.refresh == "" || r.FormValue("refresh_token") != s.refresh) {
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"errors":[{"code":"DENIED","message":"`+password+r.FormValue("refresh_token")+`"}]}`)
		return
	}
	s.given++
	token := fmt.Sprintf("CANARY-token-%d", s.given)
	s.good[token] = 1000
	if s.given == 1 {
		s.good[token] = 4
	}
	fmt.Fprintf(w, `{"token":%q,"access_token":%q,"expires_in":60}`, token, token)
}

// TestTokens checks that an expired token is requested again, with a password or an identity token.
func TestTokens(t *testing.T) {
	host := registrytest.Open(t, registrytest.Distribution, "")
	var layers [][]byte
	for i := range 12 {
		layers = append(layers, gz(tarOf(t, fmt.Sprintf("pdf/%d", i), "x")))
	}
	layers = append(layers, gz(tarOf(t, "pdf/SKILL.md", skillMD("pdf"))))
	publisher{t: t, host: host}.image("acme/pdf", "v1", layers...)
	for name, c := range map[string]struct{ entry, refresh, want string }{
		"password":              {entry: `{"auth":"` + basic(secret) + `"}`},
		"identity token":        {entry: `{"identitytoken":"CANARY-refresh"}`, refresh: "CANARY-refresh"},
		"another password":      {entry: `{"auth":"` + basic("CANARY-no") + `"}`, want: "HOST denies access to acme/pdf (401 Unauthorized), or there is no such repository: it does not take the credentials that FILE has for it; log in again with: docker login HOST"},
		"another token":         {entry: `{"registrytoken":"CANARY-no"}`, want: "HOST denies access to acme/pdf (401 Unauthorized), or there is no such repository: it does not take the credentials that FILE has for it; log in again with: docker login HOST"},
		"a used identity token": {entry: `{"identitytoken":"CANARY-no"}`, refresh: "CANARY-refresh", want: "HOST denies access to acme/pdf (401 Unauthorized), or there is no such repository: it does not take"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTokens(t, host)
			s.refresh = c.refresh
			opts, _ := options(t)
			opts.Config = dockerConfig(t, `{"auths":{%q:%s}}`, s.host(), c.entry)
			got, _, err := install(t, New(opts), "oci://"+s.host()+"/acme/pdf:v1")
			text := ""
			if err != nil {
				text = strings.NewReplacer(s.host(), "HOST", opts.Config, "FILE").Replace(err.Error())
			}
			if (c.want == "") != (text == "") || !strings.HasPrefix(text, c.want) || strings.Contains(text, "CANARY") {
				t.Errorf("%q, want %q", text, c.want)
			}
			if c.want == "" && err == nil && (len(got.Files) != 13 || s.given < 2) {
				t.Errorf("%d files with %d tokens", len(got.Files), s.given)
			}
		})
	}
}

// TestSignInAtAnotherPort checks that a registry may sign in at another port of its host, as
// GitLab's does, but that a layer is not fetched from there.
func TestSignInAtAnotherPort(t *testing.T) {
	host := registrytest.Open(t, registrytest.Distribution, "")
	publisher{t: t, host: host}.image("acme/pdf", "v1", gz(tarOf(t, "pdf/SKILL.md", skillMD("pdf"))))
	asked := 0
	gitlab := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; r.URL.Path != "/jwt/auth" {
			t.Errorf("asked for %s", r.URL)
		}
		io.WriteString(w, `{"token":"CANARY-token"}`)
	}))
	defer gitlab.Close()
	roots := x509.NewCertPool()
	roots.AddCert(gitlab.Certificate())
	for name, redirects := range map[string]bool{"token": false, "redirect": true} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, host, func(w http.ResponseWriter, r *http.Request, _ int) bool {
				switch {
				case r.Header.Get("Authorization") != "Bearer CANARY-token":
					w.Header().Set("WWW-Authenticate", `Bearer realm="`+gitlab.URL+`/jwt/auth",service="container_registry"`)
					w.WriteHeader(http.StatusUnauthorized)
				case redirects && isBlob(r):
					http.Redirect(w, r, gitlab.URL+"/blob", http.StatusTemporaryRedirect)
				default:
					r.Header.Del("Authorization")
					return false
				}
				return true
			})
			opts, _ := options(t)
			opts.Fetcher = httpfetch.New(httpfetch.Options{Roots: roots})
			defer opts.Fetcher.Close()
			_, _, err := install(t, New(opts), "oci://"+p.host()+"/acme/pdf:v1")
			if redirects != (err != nil) || redirects && !strings.Contains(err.Error(), "is in a private network") {
				t.Errorf("error %v", err)
			}
		})
	}
	if asked != 2 {
		t.Errorf("%d tokens were asked for", asked)
	}
}

// TestCredentialsStay checks that credentials are sent only to the registry. They are not sent to
// the targets of its redirects, or to a foreign sign-in address. It also checks that no message
// contains a signed address.
func TestCredentialsStay(t *testing.T) {
	host := registrytest.Open(t, registrytest.Distribution, "")
	publisher{t: t, host: host}.image("acme/pdf", "v1", gz(tarOf(t, "pdf/SKILL.md", skillMD("pdf"))))
	var mu sync.Mutex
	var heard []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, r.URL.Path)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer other.Close()
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1) + "/blob?X-Amz-Signature=CANARY-signature"
	for name, fault := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"redirect": func(w http.ResponseWriter, r *http.Request) bool {
			if isBlob(r) {
				http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
			}
			return isBlob(r)
		},
		"no address": func(w http.ResponseWriter, r *http.Request) bool {
			if isBlob(r) {
				w.Header().Set("Location", "https://x.example/%zz?X-Amz-Signature=CANARY-signature")
				w.WriteHeader(http.StatusTemporaryRedirect)
			}
			return isBlob(r)
		},
		"realm": func(w http.ResponseWriter, r *http.Request) bool {
			if isBlob(r) {
				w.Header().Set("WWW-Authenticate", `Bearer realm="`+strings.Replace(elsewhere, "localhost", "169.254.169.254", 1)+`"`)
				w.WriteHeader(http.StatusUnauthorized)
			}
			return isBlob(r)
		},
		"scheme": func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("WWW-Authenticate", `Bearer realm="file:///etc/passwd?CANARY"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		},
		"broken": func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://[CANARY"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, host, func(w http.ResponseWriter, r *http.Request, _ int) bool {
				if r.Header.Get("Authorization") == "" && !isBlob(r) {
					w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
					if name == "scheme" || name == "broken" {
						return fault(w, r)
					}
					w.WriteHeader(http.StatusUnauthorized)
					return true
				}
				r.Header.Del("Authorization")
				return fault(w, r)
			})
			opts, _ := options(t)
			opts.Config = dockerConfig(t, `{"auths":{%q:{"auth":%q}}}`, p.host(), basic(secret))
			_, _, err := install(t, New(opts), "oci://"+p.host()+"/acme/pdf:v1")
			if err == nil || strings.Contains(err.Error(), "CANARY") || len(err.Error()) > 400 {
				t.Errorf("error %v", err)
			}
			t.Log(err)
		})
	}
	if len(heard) > 0 {
		t.Errorf("another host was asked for %v", heard)
	}
}
