package web

import (
	"net/url"
	"strings"
	"testing"
)

// redirections maps targets, including targets of an attacker's link, to the address that
// sign-in redirects to.
var redirections = map[string]string{
	"":                              "/",
	"/":                             "/",
	"/skills/one/git/?view=source":  "/skills/one/git/?view=source",
	"/skills/two/a%20b%2520c/":      "/skills/two/a%20b%2520c/",
	"/?q=a+b&state=fine":            "/?q=a+b&state=fine",
	"/?q=https://evil.example/":     "/?q=https://evil.example/",
	"//evil.example/":               "/",
	"///evil.example/":              "/evil.example/",
	"////evil.example":              "/evil.example",
	"/\\evil.example":               "/%5Cevil.example",
	"\\\\evil.example":              "/",
	"/\t/evil.example":              "/",
	"/\n/evil.example":              "/",
	" //evil.example":               "/",
	"https://evil.example/":         "/",
	"https:evil.example":            "/",
	"https:/evil.example":           "/",
	"javascript:alert(1)":           "/",
	"data:text/html,x":              "/",
	"evil.example":                  "/",
	"?q=x":                          "/",
	"#x":                            "/",
	"//a:b@evil.example/":           "/",
	"/%2F/evil.example":             "/%2F/evil.example",
	"/x?a\\b#c":                     "/x?a%5Cb",
	"/signin":                       "/",
	"/signout":                      "/",
	"/signin?x":                     "/",
	"/%zz":                          "/",
	"/x\r\nSet-Cookie: a=b":         "/",
	"/.//evil.example":              "/.//evil.example",
	"/skills/x/..%2f..%2f/evil":     "/skills/x/..%2f..%2f/evil",
	"//evil.example\\@host/":        "/",
	"/@evil.example":                "/@evil.example",
	"http://127.0.0.1:8080/skills/": "/",
}

func TestWithin(t *testing.T) {
	for to, want := range redirections {
		if got := within(to); got != want {
			t.Errorf("%q leads to %q, want %q", to, got, want)
		}
	}
}

// FuzzWithin checks that no text leads a browser to another server.
func FuzzWithin(f *testing.F) {
	for to := range redirections {
		f.Add(to)
	}
	base, err := url.Parse("https://skills.example/signin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, to string) {
		got := within(to)
		if !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") || strings.ContainsAny(got, "\\#") || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("%q leads to %q", to, got)
		}
		u, err := base.Parse(got)
		if err != nil || u.Host != base.Host || u.Scheme != base.Scheme || u.User != nil {
			t.Fatalf("%q leads to %v (%v)", to, u, err)
		}
	})
}
