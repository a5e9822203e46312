package oci

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/test/registrytest"
)

// TestCredentialsChange checks that a long-running server reads credentials again when its registry
// refuses the old ones.
func TestCredentialsChange(t *testing.T) {
	host := registrytest.Open(t, registrytest.DockerRegistry, "")
	digest := publisher{t: t, host: host}.image("acme/pdf", "v1", gz(tarOf(t, "pdf/SKILL.md", skillMD("pdf"))))
	for _, tokens := range []bool{false, true} {
		t.Run(fmt.Sprintf("tokens %v", tokens), func(t *testing.T) {
			var password, status atomic.Value
			var refused atomic.Int64
			password.Store("CANARY-1")
			status.Store(http.StatusUnauthorized)
			var p *proxy
			p = newProxy(t, host, func(w http.ResponseWriter, r *http.Request, _ int) bool {
				good := password.Load().(string)
				_, sent, _ := r.BasicAuth()
				switch {
				case tokens && r.URL.Path == "/token" && sent == good:
					fmt.Fprintf(w, `{"token":"of %s"}`, good)
				case !tokens && sent == good || tokens && r.Header.Get("Authorization") == "Bearer of "+good:
					r.Header.Del("Authorization")
					return false
				case r.Header.Get("Authorization") != "" && r.URL.Path != "/token":
					refused.Add(1)
					w.WriteHeader(status.Load().(int))
				default:
					challenge := `Basic realm="x"`
					if tokens {
						challenge = `Bearer realm="` + p.URL + `/token",service="knack"`
					}
					w.Header().Set("WWW-Authenticate", challenge)
					w.WriteHeader(http.StatusUnauthorized)
				}
				return true
			})
			opts, _ := options(t)
			opts.Config = dockerConfig(t, "{}")
			login := func(password string) {
				if err := os.WriteFile(opts.Config, fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, p.host(), basic(password)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			ref, err := origin.Parse("oci://"+p.host()+"/acme/pdf:v1", "", "")
			if err != nil {
				t.Fatal(err)
			}
			o := New(opts)
			resolve := func(want string) {
				t.Helper()
				at, err := o.Resolve(t.Context(), ref)
				if want == "" && (err != nil || at.ID != "oci:"+digest) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("%v %v, want %q", at, err, want)
				}
			}
			resolve("has no credentials for it")
			login("CANARY-1")
			resolve("")
			for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden} {
				status.Store(code)
				next := fmt.Sprintf("CANARY-%d", code)
				password.Store(next)
				refused.Store(0)
				resolve("it does not take the credentials that")
				if n := refused.Load(); n > 3 {
					t.Errorf("%d requests with a password that is refused", n)
				}
				login(next)
				resolve("")
				if _, _, err := install(t, o, ref.String()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
