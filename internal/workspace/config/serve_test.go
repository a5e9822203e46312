package config

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/limit"
)

const served = `http:
  listen: 8080
  hosts: [skills.example.com]
  origins: ["https://example.com"]
  tls-cert: cert.pem
  tls-key: /etc/key.pem
  token-file: tokens
  proxies: [10.1.2.3/8, "fd00::/8", 192.0.2.1]
log: {level: info, format: json}
audit: {to: audit.log, max-size: 5, keep: 3}
usage: {file: usage.json}
limits: {rate: 0.5, burst: 20}
`

// prefixes compares prefixes, whose fields cmp cannot access.
var prefixes = cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })

func TestServe(t *testing.T) {
	half, twenty := 0.5, 20
	want := Config{
		HTTP: HTTP{Listen: "8080", Hosts: []string{"skills.example.com"}, Origins: []string{"https://example.com"}, TLSCert: "cert.pem", TLSKey: "/etc/key.pem", TokenFile: "tokens",
			Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("192.0.2.1/32")}},
		Log: Log{"info", "json"}, Audit: Audit{"audit.log", 5 << 20, 3}, Usage: Usage{"usage.json"}, Limits: Limits{&half, &twenty},
	}
	got, problems := Parse([]byte(served))
	if diff := cmp.Diff(want, got, prefixes); diff != "" || len(problems) > 0 {
		t.Errorf("%v %s", problems, diff)
	}
	for text, want := range map[string]Config{
		"http: {listen: \"0.0.0.0:80\"}":        {HTTP: HTTP{Listen: "0.0.0.0:80"}},
		"http: {listen: \"[::1]:0\"}":           {HTTP: HTTP{Listen: "[::1]:0"}},
		"http: {listen: 65535}":                 {HTTP: HTTP{Listen: "65535"}},
		"http:\n":                               {},
		"http: {no-auth: true}":                 {HTTP: HTTP{NoAuth: true}},
		"http: {no-auth: false, token-file: a}": {HTTP: HTTP{TokenFile: "a"}},
		"audit: {to: stdout}":                   {Audit: Audit{"stdout", 100 << 20, 10}},
		"audit: {to: a, max-size: 0}":           {Audit: Audit{"a", 0, 10}},
	} {
		if got, problems := Parse([]byte(text)); len(problems) > 0 || cmp.Diff(want, got, prefixes) != "" {
			t.Errorf("%s: %v %s", text, problems, cmp.Diff(want, got, prefixes))
		}
	}
	given := limit.Rate{PerSecond: 7, Burst: 8}
	if got := want.Limits.Apply(given); got != (limit.Rate{PerSecond: 0.5, Burst: 20}) {
		t.Error(got)
	}
	if got := (Limits{}).Apply(given); got != given {
		t.Error(got)
	}
}

func TestServeRefuses(t *testing.T) {
	const noPort = "config-value@1:16 http.listen: http.listen is neither a port from 0 to 65535 nor host:port | write a port, or host:port, such as 0.0.0.0:8080"
	for text, want := range map[string]string{
		"http: {proxies: [10.0.0.0/33]}":                  "config-value@1:18 http.proxies: '10.0.0.0/33' is not the network of a proxy | write the address of your proxy, or its network, such as 10.0.0.0/8",
		"http: {proxies: [0.0.0.0/0]}":                    "config-value@1:18 http.proxies: '0.0.0.0/0' is not the network of a proxy | write the address of your proxy, or its network, such as 10.0.0.0/8",
		"http: {proxies: [proxy.example]}":                "config-value@1:18 http.proxies: 'proxy.example' is not the network of a proxy | write the address of your proxy, or its network, such as 10.0.0.0/8",
		"http: {hosts: [a.example, 'https://a.example']}": "config-value@1:27 http.hosts: 'https://a.example' is no host | write a name or address, with :port for one port alone",
		"http: {hosts: ['*.a.example']}":                  "config-value@1:16 http.hosts: '*.a.example' is no host | write a name or address, with :port for one port alone",
		"http: {origins: [a.example]}":                    "config-value@1:18 http.origins: 'a.example' is no origin | write scheme://host or scheme://host:port, without a path",
		"http: {port: 80}":                                "config-key@1:8 http.port: there is no key 'port' in http | the keys are listen, hosts, origins, tls-cert, tls-key, token-file, no-auth, proxies",
		"audit: {to: a/b}\nusage: {file: a/./b}":          "config-value@2:15 usage.file: usage.file is the file of audit.to | write the path of a file that nothing else uses",
		"http: {listen: [80]}":                            "config-value@1:16 http.listen: http.listen is not text | write a port, or host:port, such as 0.0.0.0:8080",
		"http: {listen: 99999}":                           noPort,
		"http: {listen: http}":                            noPort,
		"http: {listen: -1}":                              noPort,
		"http: {listen: 80.5}":                            noPort,
		"http: {listen: localhost}":                       noPort,
		"http: {listen: \"0.0.0.0:65536\"}":               strings.Replace(noPort, "is neither a port from 0 to 65535 nor host:port", "has no port from 0 to 65535 after the colon", 1),
		"http: {listen: \"1:2:3\"}":                       noPort,
		"http: {hosts: a}":                                "config-value@1:15 http.hosts: http.hosts is not a list | write a list: each item on its own line after a hyphen and a space, or all in [ ]",
		"http: {tls-cert: a}":                             "config-value@1:7 http: http has only one of tls-cert and tls-key | give both, or neither",
		"http: {token-file: ''}":                          "config-value@1:20 http.token-file: http.token-file is not text | " + writeAFile,
		"http: {tls-cert: a, listen: -1}":                 "config-value@1:7 http: http has only one of tls-cert and tls-key | give both, or neither\nconfig-value@1:29 http.listen: http.listen is neither a port from 0 to 65535 nor host:port | write a port, or host:port, such as 0.0.0.0:8080",
		"http: {no-auth: yes}":                            "config-value@1:17 http.no-auth: http.no-auth is not true or false | write true or false",
		"http: {no-auth: true, token-file: a}":            "config-value@1:17 http.no-auth: http.no-auth and http.token-file contradict each other | leave out http.no-auth, or http.token-file",
		"access: {tokens: [{hash: 'sha256:0000000000000000000000000000000000000000000000000000000000000000', subject: a}]}\nhttp: {no-auth: true}": "config-value@2:17 http.no-auth: http.no-auth and access.tokens contradict each other | leave out http.no-auth, or access.tokens",
		"audit: {keep: 0}":                  "config-value@1:8 audit.to: audit has no destination | write to: and the path of a file, stdout or stderr\nconfig-value@1:15 audit.keep: audit.keep is not such a number | write a whole number from 1 to 10000",
		"log: {level: warning}":             "config-value@1:14 log.level: 'warning' is not one of debug, info, warn, error | write one of debug, info, warn, error",
		"log: {level: 3}":                   "config-value@1:14 log.level: '3' is not one of debug, info, warn, error | write one of debug, info, warn, error",
		"log: {fromat: json}":               "config-key@1:7 log.fromat: there is no key 'fromat' in log | did you mean format?",
		"usage: {}":                         "config-value@1:8 usage.file: usage has no file | write file: and the path of a file, or remove the section",
		"usage: {flie: a}":                  "config-key@1:9 usage.flie: there is no key 'flie' in usage | did you mean file?",
		"usage: {file: [a]}":                "config-value@1:15 usage.file: usage.file is not text | write the path of a file; a relative path starts at this file's folder",
		"usage: a.json":                     "config-value@1:8 usage: usage does not consist of keys with values | write each key on its own line, indented, followed by a colon and a space",
		"audit: {}":                         "config-value@1:8 audit.to: audit has no destination | write to: and the path of a file, stdout or stderr",
		"audit: {to: a, max-size: 100 MiB}": "config-value@1:26 audit.max-size: audit.max-size is not such a number | write a whole number from 0 to 1048576",
		"audit: {to: a, max-size: 0.5}":     "config-value@1:26 audit.max-size: audit.max-size is not such a number | write a whole number from 0 to 1048576",
		"audit: {to: a, keep: 0}":           "config-value@1:22 audit.keep: audit.keep is not such a number | write a whole number from 1 to 10000",
		"limits: {rate: -1}":                "config-value@1:16 limits.rate: limits.rate is not such a number | write a number from 0 to 1000000",
		"limits: {rate: 0.001}":             "config-value@1:16 limits.rate: limits.rate is less than one in 100 seconds | write 0, or 0.01 and more",
		"limits: {burst: 0}":                "config-value@1:17 limits.burst: limits.burst is not such a number | write a whole number from 1 to 1000000",
		"limits: 5":                         "config-value@1:9 limits: limits does not consist of keys with values | write each key on its own line, indented, followed by a colon and a space",
	} {
		c, problems := Parse([]byte(text + "\n"))
		got := linesOf(problems)
		if diff := cmp.Diff(want, got, prefixes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if diff := cmp.Diff(Config{}, c); diff != "" {
			t.Errorf("%s: something of it holds: %s", text, diff)
		}
	}
}

// TestStale checks that a change of any key of http, audit and usage, or of log.format, needs a
// restart, and that a change of the other keys does not.
func TestStale(t *testing.T) {
	started, _ := Parse([]byte(served))
	other, problems := Parse([]byte(`http: {listen: 1, hosts: [x], origins: ["http://x"], tls-cert: x, tls-key: x, no-auth: true}
log: {level: debug, format: text}
audit: {to: x, max-size: 1, keep: 1}
usage: {file: y}
limits: {rate: 1, burst: 1}
access: {default: deny}
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var want []string
	for _, k := range serveKeyDocs() {
		if strings.HasPrefix(k.Path, "http.") || strings.HasPrefix(k.Path, "audit.") || strings.HasPrefix(k.Path, "usage.") || k.Path == "log.format" {
			want = append(want, k.Path)
		}
	}
	if diff := cmp.Diff(want, other.NeedRestart(started)); diff != "" {
		t.Error(diff)
	}
	if stale := started.NeedRestart(started); stale != nil {
		t.Error(stale)
	}
}
