//go:build linux

package safety

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/knack-dev/knack/internal/test/testwait"
)

func signInPart() part {
	return part{name: "sign-in", promise: "forms of other sites, cookies in place of a token, invented and ended sessions, redirects to other sites: no sign-in, no access and no redirect", run: signIns}
}

func limitsPart() part {
	return part{name: "limits", promise: "a client that sends too many requests is told when to retry; other clients are not affected, nor is one with a token at an address that guesses tokens", run: rates}
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// admitting returns a configuration that admits the holders of the tokens at the given rate. The
// subject of each token is named after its index.
func admitting(limits string, tokens ...string) string {
	text := "limits: " + limits + "\naccess:\n  default: allow\n  tokens:\n"
	for i, token := range tokens {
		text += fmt.Sprintf("    - {hash: %q, subject: s%d}\n", hashOf(token), i)
	}
	return text
}

// answered contains the parts of an HTTP response that tests check.
type answered struct {
	status int
	header http.Header
	body   string
}

// browse sends one request, without following redirects.
func (r *trial) browse(client *http.Client, method, at, form string, headers ...string) (answered, error) {
	req, err := http.NewRequest(method, at, strings.NewReader(form))
	r.must(err)
	if form != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return answered{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return answered{resp.StatusCode, resp.Header, string(data)}, err
}

// from returns a client whose connections come from a given address of this machine.
func (r *trial) from(address string) *http.Client {
	dialer := &net.Dialer{}
	if address != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(address)}
	}
	return &http.Client{Timeout: r.patience(), Transport: &http.Transport{DialContext: dialer.DialContext},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// hangUp sends SIGHUP, and waits until the log has the expected text one more time.
func (r *trial) hangUp(k *knack, says string) error {
	before := strings.Count(k.said(), says)
	r.must(k.cmd.Process.Signal(syscall.SIGHUP))
	if testwait.Within(r.patience(), func() bool { return strings.Count(k.said(), says) > before }) {
		return nil
	}
	return fmt.Errorf("the log does not say %q: %s", says, excerpt(k.said()))
}

const (
	takenOver   = "the settings and tokens were read again"
	notReloaded = "the settings and tokens were not read again"
	takenOrNot  = "the settings and tokens were "
)

// company starts a server of one skill that admits the holders of the tokens. Its settings are in
// the file access.yaml of its own home.
func (r *trial) company(limits string, tokens ...string) (k *knack, base, home string) {
	home = r.dir()
	root := filepath.Join(home, "skills")
	r.write(root, map[string]string{"git/SKILL.md": skillMD("git", "x")})
	r.write(home, map[string]string{"access.yaml": admitting(limits, tokens...)})
	k = r.http(setting{home: home}, "--no-builtin", "--dir", root, "--config", filepath.Join(home, "access.yaml"))
	return k, strings.TrimSuffix(k.url, "/mcp"), home
}

func signIns(r *trial) {
	const token, other = "knack_token-that-signs-in", "knack_token-of-somebody-else"
	k, base, home := r.company("{rate: 0}", token, other)
	client := r.from("")
	want := func(what string, status int, method, at, form string, headers ...string) answered {
		a, err := r.browse(client, method, base+at, form, headers...)
		if err == nil && a.status != status {
			err = fmt.Errorf("%d, want %d: %s", a.status, status, excerpt(a.body))
		}
		r.check(what, err)
		return a
	}
	enter := func(headers ...string) string {
		a := want("signing in", http.StatusSeeOther, "POST", "/signin", "token="+token+"&to=/", headers...)
		set := a.header.Get("Set-Cookie")
		pair, attributes, _ := strings.Cut(set, ";")
		var err error
		if !strings.Contains(attributes, "HttpOnly") || !strings.Contains(attributes, "SameSite=Lax") {
			err = fmt.Errorf("the cookie is %q", attributes)
		}
		r.check("the cookie", err)
		return pair
	}
	const list = "/api/v1/skills"
	mine := enter()
	name, _, _ := strings.Cut(mine, "=")
	want("a session", 200, "GET", list, "", "Cookie", mine)

	// A form that a page of another origin sends.
	for _, h := range [][]string{
		{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Origin", "http://127.0.0.1:1"}, {"Origin", "http://localhost:1", "Sec-Fetch-Site", "same-site"},
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
	} {
		for _, at := range []string{"/signin", "/signout"} {
			what := fmt.Sprintf("a form of another's page, %v, %s", h, at)
			a := want(what, 403, "POST", at, "token="+other+"&to=/", append([]string{"Cookie", mine}, h...)...)
			var err error
			if set := a.header.Get("Set-Cookie"); set != "" {
				err = fmt.Errorf("sets %q", set)
			}
			r.check(what, err)
			want(what+", and then", 200, "GET", list, "", "Cookie", mine)
		}
	}
	for _, site := range []string{"same-site", "cross-site"} {
		want("a cookie with a request of another's page, "+site, 401, "GET", list, "", "Cookie", mine, "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty")
		want("a link on another's page, "+site, 200, "GET", "/", "", "Cookie", mine, "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	}

	// A cookie permits reading pages, and nothing else.
	for _, method := range []string{"GET", "POST", "DELETE", "PUT"} {
		want("a cookie at /mcp, "+method, 401, method, "/mcp", "", "Cookie", mine)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		for _, at := range []string{list, "/", "/skills/git/", "/raw/git/SKILL.md"} {
			want("a cookie with "+method+" "+at, 401, method, at, "", "Cookie", mine)
		}
	}

	// Session ids that the server never issued.
	for _, id := range []string{"", "0", strings.Repeat("A", 43), strings.Repeat("A", 4096), token, hashOf(token), mine, "../" + mine, strings.TrimPrefix(mine, name+"=")[:42]} {
		want("an invented session", 401, "GET", list, "", "Cookie", name+"="+id)
	}
	fixed := name + "=" + strings.Repeat("B", 43)
	fresh := enter("Cookie", fixed)
	var err error
	if fresh == fixed {
		err = errors.New("is taken over")
	}
	r.check("a session that was there before", err)
	want("a session that was there before", 401, "GET", list, "", "Cookie", fixed)
	again := enter("Cookie", fresh)
	want("the session before this one", 401, "GET", list, "", "Cookie", fresh)
	want("wrong token", 401, "POST", "/signin", "token=knack_wrong&to=/", "Cookie", again)

	want("signing out", http.StatusSeeOther, "POST", "/signout", "x=1", "Cookie", again)
	want("who has signed out", 401, "GET", list, "", "Cookie", again)
	want("another session", 200, "GET", list, "", "Cookie", mine)

	here, err := url.Parse(base + "/signin")
	r.must(err)
	for _, to := range []string{
		"https://evil.example/", "//evil.example/", "///evil.example", "////evil.example", `/\evil.example`, `\\evil.example`, `\/evil.example`, "/%5cevil.example", "/%2f/evil.example", "/\t/evil.example", "/\n/evil.example", "\t//evil.example", " //evil.example",
		"javascript:alert(1)", "data:text/html,x", "https:evil.example", "http:///evil.example", "/..//evil.example", "/.//evil.example", "evil.example", "@evil.example", "/\r\nSet-Cookie: a=b", "?//evil.example", "#//evil.example", "/?q=\\", "/signout", "/signin", "", "/\x00/evil.example",
	} {
		a := want("signing in", http.StatusSeeOther, "POST", "/signin", url.Values{"token": {other}, "to": {to}}.Encode())
		location := a.header.Get("Location")
		// A browser reads \ as /, and ignores tabs and line ends.
		seen := strings.NewReplacer(`\`, "/", "\t", "", "\n", "", "\r", "").Replace(strings.TrimSpace(location))
		var err error
		if u, bad := here.Parse(seen); bad != nil || u.Host != here.Host || u.Scheme != "http" || strings.HasPrefix(seen, "//") || !strings.HasPrefix(seen, "/") {
			err = fmt.Errorf("leads to %q", location)
		}
		r.check(fmt.Sprintf("to %q", to), err)
	}

	// If a token has more sessions than allowed, its oldest session ends.
	oldest := enter()
	var newest string
	for range 16 {
		newest = enter()
	}
	want("the first of 17 sessions", 401, "GET", list, "", "Cookie", oldest)
	want("the last of 17 sessions", 200, "GET", list, "", "Cookie", newest)

	// A token is revoked.
	r.write(home, map[string]string{"access.yaml": admitting("{rate: 0}", other)})
	r.check("revoking", r.hangUp(k, takenOver))
	want("a revoked token's session", 401, "GET", list, "", "Cookie", newest)
	want("a revoked token", 401, "POST", "/signin", "token="+token)
	r.write(home, map[string]string{"access.yaml": admitting("{rate: 0}", token, other)})
	r.check("knowing it again", r.hangUp(k, takenOver))
	want("the session of a token that is known again", 401, "GET", list, "", "Cookie", newest)
	want("a token that is known again", 200, "GET", list, "", "Authorization", "Bearer "+token)
	r.ends([]*knack{k})
}

func rates(r *trial) {
	const anna, bob = "knack_token-of-one-who-asks-a-lot", "knack_token-of-one-who-does-not"
	// One more request in 100 seconds, so that the allowance does not grow while this runs.
	k, base, _ := r.company("{rate: 0.01, burst: 60}", anna, bob)
	const list = "/api/v1/skills"
	get := func(client *http.Client, token string, headers ...string) (answered, error) {
		return r.browse(client, "GET", base+list, "", append([]string{"Authorization", "Bearer " + token}, headers...)...)
	}
	let := func(what string, a answered, err error) {
		if err == nil && a.status != 200 {
			err = fmt.Errorf("%d: %s", a.status, excerpt(a.body))
		}
		r.check(what, err)
	}
	told := func(what string, a answered, err error) {
		if err == nil && a.status != http.StatusTooManyRequests {
			err = fmt.Errorf("over the limit: %d", a.status)
		}
		if seconds, bad := strconv.Atoi(a.header.Get("Retry-After")); err == nil && (bad != nil || seconds < 1) {
			err = fmt.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
		}
		r.check(what, err)
	}
	client := r.from("")
	for range 60 {
		a, err := get(client, anna)
		let("within the burst", a, err)
	}
	a, err := get(client, anna)
	told("one more", a, err)
	for _, header := range []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "X-Client-Ip"} {
		a, err := get(client, anna, header, "192.0.2.7")
		told("with "+header, a, err)
	}
	for _, at := range []string{"/", "/skills/git/", "/mcp", "/metrics"} {
		a, err := r.browse(client, "GET", base+at, "", "Authorization", "Bearer "+anna)
		told("at "+at, a, err)
	}
	a, err = get(r.from("127.0.0.5"), anna)
	told("from another address", a, err)
	for range 5 {
		a, err := get(client, bob)
		let("another's request", a, err)
	}

	// A client that guesses tokens is limited, whatever its headers; clients with a valid token are
	// not.
	for _, header := range []string{"", "X-Forwarded-For", "Forwarded", "X-Real-Ip"} {
		guesser, waits := r.from("127.0.0.9"), 0
		for i := range 400 {
			headers := []string{}
			if header != "" {
				headers = []string{header, fmt.Sprintf("192.0.%d.%d", i/250, i%250)}
			}
			a, err := get(guesser, "knack_wrong"+strconv.Itoa(i), headers...)
			switch {
			case err == nil && a.status == http.StatusTooManyRequests:
				waits++
				if a.header.Get("Retry-After") == "" {
					err = errors.New("no Retry-After")
				}
			case err == nil && a.status != http.StatusUnauthorized:
				err = errors.New(strconv.Itoa(a.status))
			}
			r.check("a guess", err)
		}
		var err error
		if waits == 0 {
			err = errors.New("400 guesses, and never told to wait")
		}
		r.check("with "+header, err)
		a, err := get(guesser, bob)
		let("a token that is known, where others guess", a, err)
	}

	// Many client addresses take little memory.
	before := r.resident(k)
	for i := range 2000 {
		one := r.from(fmt.Sprintf("127.1.%d.%d", i/250, 1+i%250))
		a, err := get(one, "knack_wrong")
		if err == nil && a.status != http.StatusUnauthorized {
			err = errors.New(strconv.Itoa(a.status))
		}
		r.check("the first guess of an address", err)
		one.CloseIdleConnections()
	}
	after := r.resident(k)
	err = nil
	if after > before+48 {
		err = fmt.Errorf("%d MiB before, %d after", before, after)
	}
	r.check("the memory of 2,000 addresses", err)
	r.note("2,000 addresses: %d MiB before, %d after", before, after)
	r.ends([]*knack{k})
}

// resident returns the resident memory of a server in MiB.
func (r *trial) resident(k *knack) int {
	r.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", k.cmd.Process.Pid))
	r.must(err)
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	r.must(err)
	return pages * os.Getpagesize() >> 20
}
