package config

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/hosts"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Server is an entry of servers: an MCP server that knack reaches at an address or starts as a
// program.
type Server struct {
	Name Word // the label in front of its tools' names
	// URL is the address of a server over HTTP, with https, or http on this machine.
	URL string
	Credentials
	// Command is a program with its arguments. A relative path with a slash starts at the folder
	// of the configuration.
	Command  []string
	Env      []Setting
	EnvFrom  []Word // variables that the program gets from knack's environment
	Timeout  time.Duration
	Position skill.Position
}

// Setting is a name with its value: a header of requests, or a variable of a program.
type Setting struct{ Name, Value string }

// defaultTimeout limits the time of one request to a server.
const defaultTimeout = 30 * time.Second

// Bounds of a server.
const (
	maxServers  = 64
	maxWords    = 256 // in a command, and in each other list
	maxWordSize = 8 << 10
	minTimeout  = time.Second
	maxTimeout  = time.Hour
)

// serverUses are the values of the key use.
var serverUses = []string{"tools"}

var (
	variable   = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerName = lazyregexp.New("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") // RFC 9110, 5.6.2
	headerText = lazyregexp.New(`^[\x20-\x7e]*$`)
)

// ownHeaders lists the headers that the protocol sets, and the headers for tokens.
var ownHeaders = []string{
	"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "host", "last-event-id", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
	"authorization", "cookie", "proxy-authorization",
}

const (
	aVariable = "write the name of a variable, such as ACME_TOKEN; its value stays in the environment"
	anAddress = "write an address such as https://skills.example.com/mcp; http is only for this machine"
	aCommand  = "write the program and its arguments as a list, such as [npx, -y, \"@acme/server@1.4.2\"]; no shell reads it"
)

func serverKeys(at string) []key[Server] {
	return []key[Server]{
		{"url", "text", "", "the address of a server over HTTP (Streamable HTTP), with https, or http on this machine; either this or `command`", func(d *decoder, v frontmatter.Value, s *Server) {
			s.URL = d.address(at+".url", v)
		}},
		tokenEnvKey(at, "the variable with the token that is sent to this address", func(s *Server) *Credentials { return &s.Credentials }),
		tokenFileKey(at, func(s *Server) *Credentials { return &s.Credentials }),
		headersKey(at, "headers of each request to this address; none that has a secret", func(s *Server) *Credentials { return &s.Credentials }),
		{"command", "list", "", "the program of a server over standard input and output, and its arguments; no shell reads them; either this or `url`", func(d *decoder, v frontmatter.Value, s *Server) {
			s.Command = d.command(at+".command", v)
		}},
		{"env", "section", "none", "variables of the program, besides `PATH`, `HOME`, `LANG` and `TMPDIR`; none that has a secret", func(d *decoder, v frontmatter.Value, s *Server) {
			s.Env = d.settings(at+".env", v, func(name, value string) (what, fix string) {
				if !variable().MatchString(name) || strings.Contains(value, "\x00") {
					return "is no variable", "write a name of letters, digits and _, and a text, such as ACME_HOME: /srv/acme"
				}
				return "", "write env-from: [" + name + "], and set the variable where knack is started"
			})
		}},
		{"env-from", "list", "none", "variables that the program gets from knack's own environment, for secrets", func(d *decoder, v frontmatter.Value, s *Server) {
			for _, item := range d.itemsUpTo(at+".env-from", v, maxWords, "variables", "leave some out") {
				s.EnvFrom = append(s.EnvFrom, Word{d.variable(at+".env-from", item), item.Position})
			}
		}},
		{"use", "list", "", "the parts of the server that are used: `tools`; required", func(d *decoder, v frontmatter.Value, s *Server) {
			d.refuseEmpty(at+".use", v, "write use: [tools]")
			for _, item := range d.items(at+".use", v) {
				d.oneOf(at+".use", item, serverUses)
			}
		}},
		{"timeout", "duration", "30s", "how long one request to the server may take, and, if it is set, its start", func(d *decoder, v frontmatter.Value, s *Server) {
			s.Timeout = d.duration(at+".timeout", v, minTimeout, maxTimeout, "write seconds or minutes, such as 30s")
		}},
	}
}

func decodeServers(d *decoder, v frontmatter.Value) (all []Server) {
	for i, f := range d.fields("servers", v) {
		if i == maxServers {
			d.add(ruleValue, f.KeyPosition, "servers", "leave some out", "servers has more than %d servers", maxServers)
			break
		}
		at := "servers." + display.Excerpt(f.Key)
		if !rootLabel().MatchString(f.Key) {
			d.add(ruleValue, f.KeyPosition, at, "write 1 to 32 of a to z, 0 to 9 and -, for example files", "%s is not a name for a server", display.Quote(f.Key))
		}
		s := Server{Name: Word{f.Key, f.KeyPosition}, Timeout: defaultTimeout, Position: f.KeyPosition}
		section(d, at, f.Value, serverKeys(at), &s)
		checkServer(d, at, f)
		all = append(all, s)
	}
	return all
}

// checkServer reports missing keys of a server, and keys that exclude each other.
func checkServer(d *decoder, at string, f frontmatter.Field) {
	has := func(key string) bool { return !lacks(f.Value, key) }
	if f.Value.Kind != frontmatter.Map && f.Value.Kind != frontmatter.Null {
		return
	}
	if !has("use") {
		d.add(ruleValue, f.KeyPosition, at+".use", "write use: [tools]", "%s has no use", at)
	}
	switch {
	case has("url") && has("command"):
		d.add(ruleValue, f.KeyPosition, at, "leave one of them out", "%s has both url and command", at)
		return
	case !has("url") && !has("command"):
		d.add(ruleValue, f.KeyPosition, at, "write url: and an address, or command: and a list of words", "%s has neither url nor command", at)
		return
	}
	d.checkTokens(at, f.Value, f.KeyPosition)
	main, others := "url", []string{"env", "env-from"}
	if has("command") {
		main, others = "command", []string{"token-env", "token-file", "headers"}
	}
	for _, field := range f.Value.Fields {
		if slices.Contains(others, field.Key) {
			d.add(ruleValue, field.KeyPosition, at+"."+field.Key, "leave it out", "%s.%s has no meaning beside %s", at, field.Key, main)
		}
	}
}

// address decodes the address of a server.
func (d *decoder) address(at string, v frontmatter.Value) string {
	text, ok := d.textOK(at, v, anAddress)
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "" || u.Fragment != "" || !headerText().MatchString(text) || strings.Contains(text, " "):
		d.add(ruleValue, v.Position, at, anAddress, "%s is not an address", at)
	case u.User != nil:
		d.add(ruleValue, v.Position, at, "leave it out, and name the token with token-env or token-file", "%s has a user name or a password", at)
	case u.Scheme != "https" && !(u.Scheme == "http" && hosts.IsLoopback(u.Hostname())):
		d.add(ruleValue, v.Position, at, anAddress, "%s is not encrypted", at)
	}
	return text
}

// variable decodes the name of a variable. The message does not repeat the value, which may be a
// token.
func (d *decoder) variable(at string, v frontmatter.Value) string {
	if v.Kind != frontmatter.String || !IsVariable(v.Text) {
		d.add(ruleValue, v.Position, at, aVariable, "%s has no name of a variable", at)
		return ""
	}
	return v.Text
}

// IsVariable reports whether text can be the name of a variable, and does not look like a secret.
func IsVariable(text string) bool {
	return variable().MatchString(text) && display.RedactWords([]string{text})[0] == text
}

// command decodes a program and its arguments. Numbers are used as written.
func (d *decoder) command(at string, v frontmatter.Value) (words []string) {
	if v.Kind != frontmatter.List || len(v.Items) == 0 {
		d.add(ruleValue, v.Position, at, aCommand, "%s is not a list of words", at)
		return nil
	}
	for i, item := range v.Items {
		switch {
		case i == maxWords:
			d.add(ruleValue, item.Position, at, "write a program that does the same with fewer", "%s has more than %d words", at, maxWords)
			return words
		case item.Kind != frontmatter.String && item.Kind != frontmatter.Number, strings.Contains(item.Text, "\x00"), len(item.Text) > maxWordSize, i == 0 && strings.TrimSpace(item.Text) == "":
			d.add(ruleValue, item.Position, at, "put it in quotes if YAML reads it as something else", "%s has something that is not a word", at)
		case i == 0 && strings.HasPrefix(item.Text, "~"):
			d.refuseTilde(at, item.Position, item.Text, writeWholePath)
		}
		words = append(words, item.Text)
	}
	return words
}

// settings decodes names with values. wrong returns the fault of a setting, or "", and the fix,
// such as the place for a secret. No message repeats a value.
func (d *decoder) settings(at string, v frontmatter.Value, wrong func(name, value string) (what, fix string)) (all []Setting) {
	for i, f := range d.fields(at, v) {
		name, value := f.Key, f.Value
		field := at + "." + display.Excerpt(name)
		if i == maxWords {
			d.add(ruleValue, f.KeyPosition, at, "leave some out", "%s has more than %d names", at, maxWords)
			break
		}
		if value.Kind != frontmatter.String && value.Kind != frontmatter.Number || len(value.Text) > maxWordSize {
			d.add(ruleValue, value.Position, field, "write a text; put it in quotes if YAML reads it as something else", "%s is not text", field)
			continue
		}
		what, fix := wrong(name, value.Text)
		if pair := name + "=" + value.Text; what == "" && display.RedactWords([]string{pair})[0] != pair {
			what = "looks like a secret, which does not belong in this file"
		}
		if what != "" {
			d.add(ruleValue, f.KeyPosition, field, fix, "%s %s", field, what)
		}
		all = append(all, Setting{name, value.Text})
	}
	return all
}
