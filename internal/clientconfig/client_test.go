package clientconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	here   = Server{Command: "/opt/knack", Args: []string{"serve"}}
	remote = Server{URL: "https://skills.example.com/mcp?a=1&b=<2>"}
)

// shapes contains realistic files for each format, with SERVERS for the key of the client's
// servers. A merge must keep everything in them.
var shapes = map[format]map[string]string{
	formatJSON: {
		"braces":   "{}",
		"blank":    "{\n}\n",
		"settings": "{\n  \"theme\": \"dark\",\n  \"n\": 1.50\n}\n",
		"none yet": "{\n  \"SERVERS\": {}\n}\n",
		"others": `{
  "SERVERS": {
    "github": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-github"],
      "env": { "TOKEN": "a\"b\\c é \u0041" }
    },
    "other": { "url": "https://example.com/mcp" }
  },
  "last": [1, 2, {"x": null}]
}
`,
		"comments": `// my settings
{
  /* servers */
  "SERVERS": {
    // the first
    "a": { "command": "a" } // about a
    /* at the end */
  }, // about servers
  "z": 1 // about z
}
// done
`,
		"only comments": "{\n  \"SERVERS\": {\n    // add servers here\n  }\n}\n",
		"inner comment": "{\"SERVERS\": {/* none */}}",
		"trailing":      "{\n\t\"SERVERS\": {\n\t\t\"a\": {\"command\": \"a\",}, // about a\n\t\t\"b\": {\"command\": \"b\"},\n\t},\n\t\"z\": [1,],\n}\n",
		"one line":      `{"z": {"a": 1}, "SERVERS": {"a": {"command": "a"}}}`,
		"one line,":     `{"SERVERS": {"a": {"command": "a"},},}`,
		"odd":           "{ \"SERVERS\":\n{ \"a\" : {\n\"command\":\"a\" } } ,\n\"z\"\n:\n1 }",
	},
	formatTOML: {
		"settings": "model = \"gpt-5\"\n# a comment\napproval_policy = 'never'\n",
		"no end":   "model = \"gpt-5\"",
		"others": `# Codex
model = "gpt-5" # the model
notify = ["notify-send", "Codex", ]
long = """
[mcp_servers.knack]
command = "not this one" \""" """

[mcp_servers.github]
command = "npx"
args = [
  "-y", # yes
  "server",
]
env = { "TOKEN" = "a", nested.key = 'b' }

[projects."/home/me/it's [here]"]
trust_level = "trusted"
when = 1979-05-27 07:32:00

[[list]]
a = 1
[list.sub]
b = +1.5e3
[[list]]
a = 2
[list.sub]
b = inf
`,
		"empty servers": "[mcp_servers]\n\n[tui]\ntheme = \"x\"\n",
	},
	formatYAML: {
		"settings": "GOOSE_MODEL: gpt-5 # the model\nGOOSE_MODE: auto\n",
		"no end":   "GOOSE_MODEL: gpt-5",
		"null":     "extensions:\nGOOSE_MODE: auto\n",
		"null end": "GOOSE_MODE: auto\nextensions: # none",
		"braces":   "extensions: {} # none\nGOOSE_MODE: auto\n",
		"document": "---\nGOOSE_MODE: auto\n",
		"comment":  "# nothing yet\n",
		"others": `# goose
extensions: # mine
  # the first
  developer:
    bundled: true
    enabled: true # on
    name: developer
    type: builtin
  fetch:
    args:
      - -y
      - "server: fetch"
    cmd: npx
    description: |
      knack:
        cmd: not this one

      More.
    envs: {}
    type: stdio
# after
GOOSE_MODE: auto
`,
		"wide": "extensions:\n    a:\n        cmd: x\n        type: stdio\nz: {a: [1, 2]}\n",
	},
}

// lists contains files for a YAML client whose servers are a list.
var lists = map[string]string{
	"settings": "name: mine\nversion: 0.0.1\nmodels: # which\n  - name: knack\n    provider: x\n",
	"no end":   "name: mine",
	"null":     "mcpServers:\nname: mine\n",
	"braces":   "mcpServers: [] # none\nname: mine\n",
	"others": `# Continue
mcpServers: # mine
  # the first
  - name: other # a
    command: npx
    args:
      - -y
      - "x: y"
  - command: last
    name: b
# after
rules: [a, {b: c}]
`,
	"no indent": "mcpServers:\n- name: a\n  command: a\nname: mine\n",
	"one line":  "mcpServers:\n  - {name: a, command: a}\n",
	"same line": "name: mine\nmcpServers:\n  -   name: a\n      command: a",
}

// shapes returns realistic files of a client.
func (c Client) shapes() map[string]string {
	if c.list {
		return lists
	}
	return shapes[c.format]
}

func filled(c Client, text string) string { return strings.ReplaceAll(text, "SERVERS", c.keys[0]) }

// TestMerge checks every shape of file, with both line ends and a byte-order mark. An entry is
// added, updated and found again, and every line of the file stays.
func TestMerge(t *testing.T) {
	for _, c := range Clients() {
		for name, text := range c.shapes() {
			for _, ends := range []string{"\n", "\r\n"} {
				data := strings.ReplaceAll(filled(c, text), "\n", ends)
				t.Run(fmt.Sprintf("%s/%s/%q", c.ID, name, ends), func(t *testing.T) {
					if c.reads(name) {
						mergeAll(t, c, data)
					} else if out, err := c.Merge([]byte(data), here); err == nil || !strings.HasPrefix(err.Error(), "line ") {
						t.Errorf("takes a file that the client does not read (%v), and makes\n%s", err, out)
					}
				})
			}
		}
		for _, empty := range []string{"", "\n", "\r\n  \r\n", "\ufeff"} {
			out, err := c.Merge([]byte(empty), here)
			if err != nil || !has(t, c, out, here) {
				t.Errorf("%s, nothing but %q: %v\n%s", c.ID, empty, err, out)
			}
		}
	}
}

// reads reports whether the client can read the shape of the given name.
func (c Client) reads(shape string) bool {
	comments := []string{"comments", "only comments", "inner comment", "trailing"}
	trailing := []string{"trailing", "one line,"}
	return c.format != formatJSON || c.dialect == dialectLax ||
		!slices.Contains(trailing, shape) && (c.dialect == dialectComments || !slices.Contains(comments, shape))
}

func mergeAll(t *testing.T, c Client, data string) {
	servers := []Server{here, {Command: `C:\Program Files\it's\knack.exe`, Args: here.Args}, here}
	if c.remote != nil {
		servers = append(servers, remote, here)
	}
	now := data
	for _, s := range servers {
		s.ReplaceURL = true
		out, err := c.Merge([]byte(now), s)
		if err != nil {
			t.Fatalf("%v in\n%s", err, now)
		}
		if !has(t, c, out, s) {
			t.Fatalf("no entry in\n%s", out)
		}
		again, err := c.Merge(out, s)
		if err != nil || string(again) != string(out) {
			t.Fatalf("again: %v %s", err, cmp.Diff(string(out), string(again)))
		}
		if ends := strings.Count(string(out), "\r\n"); strings.Contains(data, "\r\n") && ends != strings.Count(string(out), "\n") {
			t.Fatalf("mixed line ends in\n%q", out)
		}
		if lost := lostIn(c, data, string(out)); lost != "" {
			t.Fatalf("lost %q in\n%s", lost, out)
		}
		now = string(out)
	}
}

// lostIn returns a part of a file that the other file lacks or has in another order, or "". It
// ignores commas, white space and the braces of an empty mapping.
func lostIn(c Client, before, after string) string {
	if c.format == formatYAML {
		before = strings.NewReplacer("extensions: {}", "extensions:", "mcpServers: []", "mcpServers:").Replace(before)
	}
	at := 0
	for _, line := range strings.FieldsFunc(before, func(r rune) bool { return strings.ContainsRune(" \t\r\n,{}", r) }) {
		i := strings.Index(after[at:], line)
		if i < 0 {
			return line
		}
		at += i + len(line)
	}
	return ""
}

// has reports whether the parsers of this package find the entry for s in a file.
func has(t *testing.T, c Client, data []byte, s Server) bool {
	t.Helper()
	all, err := c.servers(data, c.keys)
	if err != nil {
		t.Fatal(err)
	}
	own, ok := all[Name]
	got := maps.Clone(own.fields)
	wanted := map[string]any{}
	for _, f := range c.newEntry(s) {
		wanted[f.key] = plainValue(f.value)
	}
	maps.DeleteFunc(got, func(key string, _ any) bool {
		_, ok := wanted[key]
		return !ok && (c.list && key == "name" || c.newFields != nil)
	})
	maps.DeleteFunc(wanted, func(key string, _ any) bool { _, ok := got[key]; return !ok && c.newFields != nil })
	return ok && cmp.Equal(got, wanted)
}

// TestEntry checks that the file with only the entry can be decoded, and how it looks to people.
func TestEntry(t *testing.T) {
	for _, c := range Clients() {
		text, err := c.Entry(here)
		if err != nil {
			t.Fatal(err)
		}
		if c.format == formatJSON && !json.Valid([]byte(text)) {
			t.Errorf("%s: %s", c.ID, text)
		}
		if _, err := c.Entry(remote); (err == nil) != (c.remote != nil) {
			t.Errorf("%s: %v", c.ID, err)
		}
	}
	for id, want := range map[string]string{
		"vscode":   "{\n  \"servers\": {\n    \"knack\": {\n      \"type\": \"stdio\",\n      \"command\": \"/opt/knack\",\n      \"args\": [\"serve\"]\n    }\n  }\n}\n",
		"codex":    "[mcp_servers.knack]\ncommand = \"/opt/knack\"\nargs = [\"serve\"]\n",
		"opencode": "{\n  \"mcp\": {\n    \"knack\": {\n      \"type\": \"local\",\n      \"command\": [\"/opt/knack\", \"serve\"]\n    }\n  }\n}\n",
		"goose":    "extensions:\n  knack:\n    type: \"stdio\"\n    cmd: \"/opt/knack\"\n    args: [\"serve\"]\n    name: \"knack\"\n    enabled: true\n    envs: {}\n    timeout: 300\n",
	} {
		c, ok := Find(strings.ToUpper(id))
		text, _ := c.Entry(here)
		if diff := cmp.Diff(want, text); !ok || diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
}

// TestEntryWithToken checks the entry for a server that requires tokens. It contains the variable
// of the token or a placeholder, in the form of each client. An entry for another server mentions
// no token.
func TestEntryWithToken(t *testing.T) {
	header := func(token string) string { return `"headers": {"Authorization": "Bearer ` + token + `"}` }
	for id, want := range map[string]string{
		"claude-code": header("${KNACK_TOKEN}"), "cursor": header("${env:KNACK_TOKEN}"), "windsurf": header("${env:KNACK_TOKEN}"), "gemini-cli": header("${KNACK_TOKEN}"), "copilot-cli": header("${KNACK_TOKEN}"), "qwen-code": header("${KNACK_TOKEN}"),
		"vscode": header("YOUR-TOKEN"), "zed": header("YOUR-TOKEN"), "opencode": header("{env:KNACK_TOKEN}"),
		"codex": `bearer_token_env_var = "KNACK_TOKEN"`, "goose": `headers: {"Authorization": "Bearer YOUR-TOKEN"}`,
	} {
		c, _ := Find(id)
		with := Server{URL: remote.URL, Token: true}
		text, err := c.Entry(with)
		if c.format == formatYAML && !strings.Contains(text, "    "+want+"\n") {
			t.Errorf("%s: the braces end on another line:\n%s", id, text) // which YAML wants indented
		}
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		flat := strings.Join(strings.Fields(strings.NewReplacer("{", " { ", "}", " } ").Replace(text)), " ")
		if !strings.Contains(flat, strings.Join(strings.Fields(strings.NewReplacer("{", " { ", "}", " } ").Replace(want)), " ")) {
			t.Errorf("%s has no %s:\n%s", id, want, text)
		}
		if c.TokenFromEnvironment() != strings.Contains(want, TokenVariable) {
			t.Errorf("%s: from the environment %t", id, c.TokenFromEnvironment())
		}
		again, err := c.Merge([]byte(text), with)
		if err != nil || string(again) != text {
			t.Errorf("%s again: %v\n%s", id, err, again)
		}
		if plain, _ := c.Entry(remote); strings.Contains(strings.ToLower(plain), "bearer") {
			t.Errorf("%s without tokens:\n%s", id, plain)
		}
		if c.Command != nil {
			want := `claude mcp add -s user --transport http knack ` + quoted(remote.URL) + ` --header 'Authorization: Bearer ${KNACK_TOKEN}'`
			if got := c.Command(with); got != want {
				t.Errorf("%s: %s", id, got)
			}
		}
	}
}

// TestTokenStays checks that a token and other headers that the user entered stay. Both are removed
// together with the URL, since Codex refuses an entry with a token and a command.
func TestTokenStays(t *testing.T) {
	with := Server{URL: "http://x", Token: true}
	const jsonHead, jsonTail = "{\"mcpServers\": {\"knack\": {\"url\": \"http://x\"", "}}}"
	for name, c := range map[string]struct {
		id, before, after string
		to                Server
	}{
		"a token":          {"zed", `{"context_servers": {"knack": {"url": "http://x", "headers": {"authorization": "Bearer mine"}}}}`, "", with},
		"another variable": {"codex", "[mcp_servers.knack]\nurl = \"http://x\"\nbearer_token_env_var = \"MINE\"\n", "", with},
		"in YAML":          {"goose", "extensions:\n  knack:\n    type: streamable_http\n    uri: http://x\n    headers: {Authorization: Bearer mine}\n", "", with},
		"no string":        {"cursor", jsonHead + `, "headers": {"X-A": 1}` + jsonTail, "", with},
		"other headers":    {"cursor", jsonHead + `, "headers": {"X-A": "b"}` + jsonTail, jsonHead + `, "headers": {"X-A": "b","Authorization": "Bearer ${env:KNACK_TOKEN}"}` + jsonTail, with},
		"no token asked":   {"cursor", jsonHead + `, "headers": {"X-A": "b"}` + jsonTail, "", Server{URL: "http://x"}},
		"to a command": {"codex", "[mcp_servers.knack]\nurl = \"http://x\"\nbearer_token_env_var = \"KNACK_TOKEN\"\n",
			"[mcp_servers.knack]\ncommand = \"/k\"\nargs = [\"serve\"]\n", Server{Command: "/k", Args: []string{"serve"}, ReplaceURL: true}},
	} {
		client, _ := Find(c.id)
		want := c.after
		if want == "" {
			want = c.before
		}
		got, err := client.Merge([]byte(c.before), c.to)
		flat := func(s string) string {
			return strings.Join(strings.Fields(strings.NewReplacer("{", "{ ", "}", " }", ",", ", ").Replace(s)), " ")
		}
		if c.id == "codex" || c.id == "goose" {
			flat = func(s string) string { return s }
		}
		if d := cmp.Diff(flat(want), flat(string(got))); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
	}
}

// TestOlderEntry checks that an older entry is updated, and that the user's additions stay.
func TestOlderEntry(t *testing.T) {
	for id, files := range map[string][2]string{
		"cursor": {
			"{\n  \"mcpServers\": {\n    \"knack\": {\n      \"command\": \"/old/knack\", // mine\n      \"args\": [\n        \"serve\"\n      ],\n      \"env\": {\"A\": \"b\"}\n    }\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"knack\": {\n      \"command\": \"/opt/knack\", // mine\n      \"args\": [\n        \"serve\"\n      ],\n      \"env\": {\"A\": \"b\"}\n    }\n  }\n}\n",
		},
		"vscode": {
			"{\"servers\": {\"knack\": {\"type\": \"http\", \"url\": \"http://x\", \"dev\": {\"a\": 1}}}}",
			"{\"servers\": {\"knack\": {\"type\": \"stdio\", \"command\": \"/opt/knack\", \"dev\": {\"a\": 1}, \"args\": [\"serve\"]}}}",
		},
		"codex": {
			"[mcp_servers.knack] # skills\ncommand = \"/old/knack\" # where\nenv = { A = \"b\" }\nurl = \"http://x\"\n\n[mcp_servers.knack.tools]\na = 1\n",
			"[mcp_servers.knack] # skills\nargs = [\"serve\"]\ncommand = \"/opt/knack\" # where\nenv = { A = \"b\" }\n\n[mcp_servers.knack.tools]\na = 1\n",
		},
		"goose": {
			"extensions:\n  knack:\n    enabled: false # for now\n    type: stdio\n    cmd: /old/knack # where\n    args:\n      - serve\n    timeout: 60\n  z:\n    cmd: z\n",
			"extensions:\n  knack:\n    enabled: false # for now\n    type: stdio\n    cmd: \"/opt/knack\" # where\n    args:\n      - serve\n    timeout: 60\n  z:\n    cmd: z\n",
		},
	} {
		c, _ := Find(id)
		to := here
		to.ReplaceURL = true
		out, err := c.Merge([]byte(files[0]), to)
		if diff := cmp.Diff(files[1], string(out)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", id, err, diff)
		}
	}
}

// TestOtherWay checks that comments keep their places if an entry changes from a command to a URL
// or the other way, and back.
func TestOtherWay(t *testing.T) {
	c, _ := Find("cursor")
	for name, files := range map[string][2]string{
		"to here": {
			"{\n  \"mcpServers\": {\n    \"knack\": { // mine\n      \"url\": \"http://x\", /* remote */\n      \"env\": {\"A\": \"b\"} // keep\n    }\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"knack\": { // mine\n      \"command\": \"/opt/knack\", /* remote */\n      \"env\": {\"A\": \"b\"}, // keep\n      \"args\": [\"serve\"]\n    }\n  }\n}\n",
		},
		"to there": {
			"{\n  \"mcpServers\": {\n    \"knack\": {\n      \"command\": \"/opt/knack\", // a\n      \"env\": {}, // b\n      // c\n      \"args\": [\"serve\"] // d\n    }\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"knack\": {\n      \"url\": \"https://skills.example.com/mcp?a=1&b=<2>\", // a\n      \"env\": {} // b\n      // c\n      // d\n    }\n  }\n}\n",
		},
		"all in one line": {
			"{\"mcpServers\": {\"knack\": {\"command\": \"/k/knack\", \"args\": [\"serve\"]}}}",
			"{\"mcpServers\": {\"knack\": {\"url\": \"https://skills.example.com/mcp?a=1&b=<2>\"}}}",
		},
	} {
		to := here
		to.ReplaceURL = true
		if name != "to here" {
			to = remote
		}
		out, err := c.Merge([]byte(files[0]), to)
		if diff := cmp.Diff(files[1], string(out)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// TestRefused checks that a file is refused, with the line of the fault, if it cannot be parsed or
// no entry can be added to it.
func TestRefused(t *testing.T) {
	for id, files := range map[string][]string{
		"cursor": {
			"{", "[]", "null", "{\"mcpServers\": []}", "{\"mcpServers\": null}", "{\"mcpServers\": {\"knack\": 1}}", "{\"a\": 1 \"b\": 2}",
			"{\"a\": 1}}", "{'a': 1}", "{a: 1}", "{\"a\": 01}", "{\"a\": }", "{\"a\": tru}", "{\"a\": \"\n\"}", "{\"a\": \"\\x\"}", "/* {}", "// only",
			"{\"a\": 1, \"a\": 2}", "{,}", "{\"a\"}", "\xff{}", strings.Repeat("[", 1000), "{\"a\": \"x", "{} x",
		},
		"codex": {
			"a", "a =", "a = b", "a = 1 2", "[a", "[[a]", "a = [1", "a = {b = 1", "a = \"x", "a = 'x\n'", "a = \"\"\"x", "a = 1\na = 2", "[a]\n[a]",
			"mcp_servers = {}", "mcp_servers = { knack = { command = \"x\" } }", "[mcp_servers]\nknack = { command = \"knack\" }", "[mcp_servers]\nknack.command = \"knack\"",
			"mcp_servers.knack.command = \"knack\"", "[[mcp_servers]]\na = 1", "[[mcp_servers.knack]]\na = 1", "\xff = 1", "a = " + strings.Repeat("[", 1000), "= 1", "a = \"\\q\"",
		},
		"goose": {
			"a: b: c", "- a", "text", "extensions: [a]", "extensions: {a: 1}", "extensions: x", "{a: 1}", "a: 1\n---\nb: 2\n", "a: 1\na: 2\n", "extensions:\n  knack: 1\n",
			"extensions:\n  knack: {cmd: knack}\n", "a: \"x", "\tx: 1", "extensions:\n  a: 1\n  a: 2\n", "extensions: &a\n  knack: *a\n",
		},
	} {
		c, _ := Find(id)
		for _, text := range files {
			if out, err := c.Merge([]byte(text), here); err == nil {
				t.Errorf("%s takes %.40q and makes\n%s", id, text, out)
			}
		}
	}
}

// TestNesting checks that a file that nests deeper than any real one is refused before it is
// parsed, since the parser is recursive. Brackets in strings and comments do not count.
func TestNesting(t *testing.T) {
	c, _ := Find("cursor")
	deep := strings.Repeat("[", 300)
	if _, err := c.Merge([]byte(`{"a": `+deep+strings.Repeat("]", 300)+"}"), here); err == nil || err.Error() != "line 1, column 206: it nests more than 200 levels deep" {
		t.Error(err)
	}
	for _, text := range []string{`{"a": "\"` + deep + `"}`, "{ // " + deep + "\n}", "{ /* " + deep + " */ }"} {
		if _, err := c.Merge([]byte(text), here); err != nil {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

// TestAsMeant checks that asIntended rejects a result with any other loss or change.
func TestAsMeant(t *testing.T) {
	path, set := []string{"m", Name}, []field{{"command", "/k"}}
	for out, want := range map[string]bool{
		`{"m": {"knack": {"command": "/k", "env": {"A": "b"}}}, "z": 1.50}`:             true,
		`{"m": {"knack": {"command": "/k", "env": {"A": "b"}}}, "z": 1.5}`:              false,
		`{"m": {"knack": {"command": "/k", "env": {"A": "b"}}}}`:                        false,
		`{"m": {"knack": {"command": "/k", "env": {"A": "c"}}}, "z": 1.50}`:             false,
		`{"m": {"knack": {"command": "/k", "url": "x", "env": {"A": "b"}}}, "z": 1.50}`: false,
		`{"m": {"knack": {"command": "/j", "env": {"A": "b"}}}, "z": 1.50}`:             false,
		`{"m": {"knack": {"command": "/k", "env": {"A": "b"}}}, "z": 1.50`:              false,
	} {
		before, err := parseJSON([]byte(`{"m": {"knack": {"url": "x", "env": {"A": "b"}}}, "z": 1.50}`), dialectLax)
		if got := asIntended(before.value(), []byte(out), path, set, []string{"url"}, dialectLax); got != want || err != nil {
			t.Errorf("%s: %t, %v", out, got, err)
		}
	}
}

func FuzzMerge(f *testing.F) {
	for _, files := range []map[string]string{shapes[formatJSON], shapes[formatTOML], shapes[formatYAML], lists} {
		for _, text := range files {
			f.Add(strings.ReplaceAll(text, "SERVERS", "mcpServers"))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, id := range []string{"cursor", "codex", "goose", "continue", "cline"} {
			c, _ := Find(id)
			now := text
			for _, s := range []Server{here, remote} {
				s.ReplaceURL = true
				out, err := c.Merge([]byte(now), s)
				if err != nil {
					break
				}
				if again, err := c.Merge(out, s); err != nil || string(again) != string(out) {
					t.Errorf("%s: %q becomes %q, then %q, %v", id, now, out, again, err)
				}
				now = string(out)
			}
		}
	})
}
