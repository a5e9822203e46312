package config

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestServers checks that the section is decoded.
func TestServers(t *testing.T) {
	c, problems := Parse([]byte(`servers:
  docs:
    url: https://Skills.example.com/mcp?team=a
    token-env: DOCS_TOKEN
    headers: {X-Team: billing, X-Year: 2026}
    use: [tools]
  here: {url: "http://[::1]:8080/mcp", token-file: tokens/here, use: [tools], timeout: 2m}
  files:
    command: [./bin/files, --port, 8080, ""]
    env: {ACME_HOME: /srv/acme, DEBUG: 1}
    env-from: [ACME_TOKEN]
    use: [tools]
`))
	if len(problems) > 0 {
		t.Fatal(linesOf(problems))
	}
	want := []Server{
		{Name: Word{"docs", at(2, 3)}, URL: "https://Skills.example.com/mcp?team=a", Credentials: Credentials{TokenEnv: Word{"DOCS_TOKEN", at(4, 16)},
			Headers: []Setting{{"X-Team", "billing"}, {"X-Year", "2026"}}}, Timeout: 30 * time.Second, Position: at(2, 3)},
		{Name: Word{"here", at(7, 3)}, URL: "http://[::1]:8080/mcp", Credentials: Credentials{TokenFile: Word{"tokens/here", at(7, 52)}}, Timeout: 2 * time.Minute, Position: at(7, 3)},
		{Name: Word{"files", at(8, 3)}, Command: []string{"./bin/files", "--port", "8080", ""}, Env: []Setting{{"ACME_HOME", "/srv/acme"}, {"DEBUG", "1"}},
			EnvFrom: []Word{{"ACME_TOKEN", at(11, 16)}}, Timeout: 30 * time.Second, Position: at(8, 3)},
	}
	if diff := cmp.Diff(want, c.Servers); diff != "" {
		t.Error(diff)
	}
}

// TestServersRefuses checks that each wrong server has a position and a fix, and that no message
// repeats a possible secret.
func TestServersRefuses(t *testing.T) {
	const canary = "sk-canary0123456789abcdef0123456789"
	const listFix = "write a list: each item on its own line after a hyphen and a space, or all in [ ]"
	many := func(n int, what func(int) string) string {
		words := make([]string, n)
		for i := range words {
			words[i] = what(i)
		}
		return strings.Join(words, ", ")
	}
	for text, want := range map[string]string{
		"[]":     "config-value@1:10 servers: servers does not consist of keys with values | write each key on its own line, indented, followed by a colon and a space",
		"{a: 1}": "config-value@1:14 servers.a: servers.a does not consist of keys with values | write each key on its own line, indented, followed by a colon and a space",
		"{a: {}}": "config-value@1:11 servers.a.use: servers.a has no use | write use: [tools]\n" +
			"config-value@1:11 servers.a: servers.a has neither url nor command | write url: and an address, or command: and a list of words",
		"{A: {command: [x], use: [tools]}}":   "config-value@1:11 servers.A: 'A' is not a name for a server | write 1 to 32 of a to z, 0 to 9 and -, for example files",
		"{a_b: {command: [x], use: [tools]}}": "config-value@1:11 servers.a_b: 'a_b' is not a name for a server | write 1 to 32 of a to z, 0 to 9 and -, for example files",
		"{a: {comand: [x], use: [tools]}}":    "config-key@1:15 servers.a.comand: there is no key 'comand' in servers.a | did you mean command?",

		"{a: {command: [x], use: []}}":                   "config-value@1:34 servers.a.use: servers.a.use is empty | write use: [tools]",
		"{a: {command: [x], use: tools}}":                "config-value@1:34 servers.a.use: servers.a.use is not a list | " + listFix,
		"{a: {command: [x], use: [tool]}}":               "config-value@1:35 servers.a.use: 'tool' is not one of tools | did you mean tools?",
		"{a: {command: [x], use: [skills]}}":             "config-value@1:35 servers.a.use: 'skills' is not one of tools | write one of tools",
		"{a: {command: [x], use: [tools], timeout: 0s}}": "config-value@1:52 servers.a.timeout: '0s' is not such a time | write seconds or minutes, such as 30s, from 1s to 1h",

		"{a: {url: 'https://h/', command: [x], use: [tools]}}":                             "config-value@1:11 servers.a: servers.a has both url and command | leave one of them out",
		"{a: {command: [x], token-env: T, headers: {X: y}, use: [tools]}}":                 "config-value@1:29 servers.a.token-env: servers.a.token-env has no meaning beside command | leave it out\nconfig-value@1:43 servers.a.headers: servers.a.headers has no meaning beside command | leave it out",
		"{a: {url: 'https://h/', env: {X: y}, env-from: [X], use: [tools]}}":               "config-value@1:34 servers.a.env: servers.a.env has no meaning beside url | leave it out\nconfig-value@1:47 servers.a.env-from: servers.a.env-from has no meaning beside url | leave it out",
		"{a: {url: 'https://h/', token-env: T, token-file: t, use: [tools]}}":              "config-value@1:11 servers.a: servers.a has both token-env and token-file | leave one of them out",
		"{a: {url: 'https://h/', token: " + canary + ", use: [tools]}}":                    "config-key@1:34 servers.a.token: there is no key 'token' in servers.a | the keys are url, token-env, token-file, headers, command, env, env-from, use, timeout",
		"{a: {url: 'https://h/', token-env: " + canary + ", use: [tools]}}":                "config-value@1:45 servers.a.token-env: servers.a.token-env has no name of a variable | " + aVariable,
		"{a: {url: 'https://h/', token-env: ghp_canary0123456789, use: [tools]}}":          "config-value@1:45 servers.a.token-env: servers.a.token-env has no name of a variable | " + aVariable,
		"{a: {url: 'https://h/', token-file: ~/t, use: [tools]}}":                          "config-value@1:46 servers.a.token-file: servers.a.token-file begins with ~, which no shell replaces here | write the whole path; a relative one starts at this file's folder",
		"{a: {url: 'https://h/', headers: {Authorization: " + canary + "}, use: [tools]}}": "config-value@1:44 servers.a.headers.Authorization: servers.a.headers.Authorization does not belong in this file | leave it out; a token is named with token-env or token-file",
		"{a: {url: 'https://h/', headers: {mcp-session-id: x}, use: [tools]}}":             "config-value@1:44 servers.a.headers.mcp-session-id: servers.a.headers.mcp-session-id does not belong in this file | leave it out; a token is named with token-env or token-file",
		"{a: {url: 'https://h/', headers: {X-Key: " + canary + "}, use: [tools]}}":         "config-value@1:44 servers.a.headers.X-Key: servers.a.headers.X-Key looks like a secret, which does not belong in this file | name the variable that has it with token-env, or the file with token-file",
		`{a: {url: 'https://h/', headers: {X-Key: "a\r\nb"}, use: [tools]}}`:               "config-value@1:44 servers.a.headers.X-Key: servers.a.headers.X-Key is not a header | write a name and a text of ASCII characters, such as X-Team: billing",
		`{a: {url: 'https://h/', headers: {"X Key": b}, use: [tools]}}`:                    "config-value@1:44 servers.a.headers.X Key: servers.a.headers.X Key is not a header | write a name and a text of ASCII characters, such as X-Team: billing",
		"{a: {url: 'https://h/', headers: {X-Key: [b]}, use: [tools]}}":                    "config-value@1:51 servers.a.headers.X-Key: servers.a.headers.X-Key is not text | write a text; put it in quotes if YAML reads it as something else",
		"{a: {url: 'http://example.com/mcp', use: [tools]}}":                               "config-value@1:20 servers.a.url: servers.a.url is not encrypted | " + anAddress,
		"{a: {url: 'http://127.0.0.1.example.com/mcp', use: [tools]}}":                     "config-value@1:20 servers.a.url: servers.a.url is not encrypted | " + anAddress,
		"{a: {url: 'http://x.localhost/mcp', use: [tools]}}":                               "config-value@1:20 servers.a.url: servers.a.url is not encrypted | " + anAddress,
		"{a: {url: 'https://anna:" + canary + "@h/', use: [tools]}}":                       "config-value@1:20 servers.a.url: servers.a.url has a user name or a password | leave it out, and name the token with token-env or token-file",
		"{a: {url: 'https://h/#x', use: [tools]}}":                                         "config-value@1:20 servers.a.url: servers.a.url is not an address | " + anAddress,
		"{a: {url: '/mcp', use: [tools]}}":                                                 "config-value@1:20 servers.a.url: servers.a.url is not an address | " + anAddress,
		"{a: {url: 'file:///etc', use: [tools]}}":                                          "config-value@1:20 servers.a.url: servers.a.url is not an address | " + anAddress,
		"{a: {url: [x], use: [tools]}}":                                                    "config-value@1:20 servers.a.url: servers.a.url is not text | " + anAddress,

		"{a: {command: npx -y x, use: [tools]}}":                             "config-value@1:24 servers.a.command: servers.a.command is not a list of words | " + aCommand,
		"{a: {command: [], use: [tools]}}":                                   "config-value@1:24 servers.a.command: servers.a.command is not a list of words | " + aCommand,
		"{a: {command: [' '], use: [tools]}}":                                "config-value@1:25 servers.a.command: servers.a.command has something that is not a word | put it in quotes if YAML reads it as something else",
		"{a: {command: [x, {y: z}], use: [tools]}}":                          "config-value@1:28 servers.a.command: servers.a.command has something that is not a word | put it in quotes if YAML reads it as something else",
		`{a: {command: [x, "\0"], use: [tools]}}`:                            "config-value@1:28 servers.a.command: servers.a.command has something that is not a word | put it in quotes if YAML reads it as something else",
		"{a: {command: [~/x], use: [tools]}}":                                "config-value@1:25 servers.a.command: servers.a.command begins with ~, which no shell replaces here | write the whole path; a relative one starts at this file's folder",
		"{a: {command: [x], env: {A-B: c}, use: [tools]}}":                   "config-value@1:35 servers.a.env.A-B: servers.a.env.A-B is no variable | write a name of letters, digits and _, and a text, such as ACME_HOME: /srv/acme",
		"{a: {command: [x], env: {ACME_KEY: " + canary + "}, use: [tools]}}": "config-value@1:35 servers.a.env.ACME_KEY: servers.a.env.ACME_KEY looks like a secret, which does not belong in this file | write env-from: [ACME_KEY], and set the variable where knack is started",
		"{a: {command: [x], env: {API_KEY: abc}, use: [tools]}}":             "config-value@1:35 servers.a.env.API_KEY: servers.a.env.API_KEY looks like a secret, which does not belong in this file | write env-from: [API_KEY], and set the variable where knack is started",
		"{a: {command: [x], env: [A], use: [tools]}}":                        "config-value@1:34 servers.a.env: servers.a.env does not consist of keys with values | write each key on its own line, indented, followed by a colon and a space",
		"{a: {command: [x], env-from: ['A=b'], use: [tools]}}":               "config-value@1:40 servers.a.env-from: servers.a.env-from has no name of a variable | " + aVariable,

		"{" + many(maxServers+1, func(i int) string { return "a" + strconv.Itoa(i) + ": {command: [x], use: [tools]}" }) + "}":            "many",
		"{a: {command: [" + many(maxWords+1, strconv.Itoa) + "], use: [tools]}}":                                                          "many",
		"{a: {command: [x], env: {" + many(maxWords+1, func(i int) string { return "A" + strconv.Itoa(i) + ": x" }) + "}, use: [tools]}}": "many",
		"{a: {command: [x], env-from: [" + many(maxWords+1, func(i int) string { return "A" + strconv.Itoa(i) }) + "], use: [tools]}}":    "many",
	} {
		c, problems := Parse([]byte("servers: " + text + "\n"))
		got := linesOf(problems)
		if want == "many" && len(problems) == 1 && strings.Contains(got, "has more than ") {
			got = want
		}
		if got != want {
			t.Errorf("%.200s\ngot  %s\nwant %s", text, got, want)
		}
		if diff := cmp.Diff(Config{}, c); diff != "" {
			t.Errorf("%s: something of it holds", text)
		}
		if strings.Contains(got, "canary") {
			t.Errorf("a secret is repeated: %s", got)
		}
	}
}
