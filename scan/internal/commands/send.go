package commands

import (
	"cmp"
	"strings"

	"github.com/knack-dev/knack/internal/lazyregexp"
	"github.com/knack-dev/knack/scan/internal/found"
	"github.com/knack-dev/knack/scan/internal/hosts"
	"github.com/knack-dev/knack/scan/internal/passage"
	"github.com/knack-dev/knack/scan/internal/secrets"
)

// credential returns the path of a value that holds credentials, and notes that the script names it.
func (r *shellReader) credential(v value) string {
	if v.secret != "" {
		return v.secret
	}
	c := credentialIn(v.text)
	if c != "" && r.secret == nil && !isDotEnv(v.text) {
		r.secret = &secretUse{c, v.from, v.to}
	}
	return c
}

// NamesCredentials reports whether a path is one that holds credentials, such as ~/.ssh/id_ed25519.
func NamesCredentials(path string) bool { return credentialIn(path) != "" }

// credentialIn returns a text if it is a path that holds credentials.
func credentialIn(text string) string {
	if len(text) < 4 || len(text) > found.MaxFact || !strings.ContainsAny(text, "./") {
		return ""
	}
	if isDotEnv(text) {
		return text
	}
	low := strings.ToLower(strings.ReplaceAll(text, "\\", "/"))
	for _, p := range systemCredentials {
		if low == p {
			return text
		}
	}
	home, ok := belowHome(low)
	if !ok {
		return ""
	}
	for _, p := range publicPaths {
		if strings.HasSuffix(home, p) {
			return ""
		}
	}
	for _, p := range credentialPaths {
		if strings.HasPrefix(home, p) || strings.HasSuffix(p, "/") && home+"/" == p {
			return text
		}
	}
	return ""
}

// belowHome returns the path below a person's home folder.
func belowHome(path string) (string, bool) {
	for _, home := range [...]string{"~/", "$home/", "${home}/", "$env:userprofile/", "%userprofile%/", "/root/"} {
		if rest, ok := strings.CutPrefix(path, home); ok {
			return rest, true
		}
	}
	for _, homes := range [...]string{"/home/", "/users/", "c:/users/", "~"} {
		if rest, ok := strings.CutPrefix(path, homes); ok {
			_, rest, ok = strings.Cut(rest, "/")
			return rest, ok
		}
	}
	return "", false
}

// isDotEnv reports whether a path is that of a file with the variables of a project: .env of dotenv.
func isDotEnv(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	switch name {
	case ".env", ".env.local", ".env.production", ".env.development":
		return true
	}
	return false
}

// sent judges what a request sends.
func (r *shellReader) sent(q request, place value, io redirect) {
	secret := ""
	for _, v := range append(q.bodies[:len(q.bodies):len(q.bodies)], q.urls...) {
		if v.secret != "" {
			secret = v.secret
		}
		for _, mark := range [...]string{"@", "=@", "=<"} {
			i := strings.Index(v.text, mark)
			if i < 0 || i > 0 && mark == "@" {
				continue
			}
			file, _, _ := strings.Cut(v.text[i+len(mark):], ";")
			if c := r.content(value{text: file, from: v.from, to: v.to}); c.secret != "" {
				secret = c.secret
			}
		}
	}
	for _, v := range q.files {
		if c := r.content(v); c.secret != "" {
			secret = c.secret
		}
	}
	if q.stdin && io.in.secret != "" {
		secret = io.in.secret
	}
	if secret == "" || len(q.urls) == 0 {
		return
	}
	r.sendsSecret(secret, q.urls[0].text, place)
}

func (r *shellReader) sendsSecret(secret, destination string, place value) {
	to := "a host"
	if host, _ := hosts.Of(destination); host != "" {
		to = secrets.Quote(host)
	}
	r.s.networkFind(found.SendSecret, r.p, place.from, place.to, destination, secrets.Quote(secret)+" is sent to "+to)
}

// send judges a program that sends a file or its input.
func (r *shellReader) send(name string, args []value, io redirect) {
	switch name {
	case "scp", "rsync":
		r.copied(args)
		return
	case "socat":
		for _, v := range args[1:] {
			if host, ok := socatHost(v.text); ok && io.in.secret != "" {
				r.sendsSecret(io.in.secret, host, args[0])
			}
		}
	default:
		_, rest := options(args[1:], "pswiqXxGgIMmOPTVW", "")
		if len(rest) > 0 && io.in.secret != "" {
			r.sendsSecret(io.in.secret, rest[0].text, args[0])
		}
	}
	r.network = true
}

// copied judges scp and rsync: the last argument is the destination.
func (r *shellReader) copied(args []value) {
	_, rest := options(args[1:], "iFoPcJSlDefTB", "rsh exclude include filter password-file files-from")
	if len(rest) < 2 {
		return
	}
	to := rest[len(rest)-1]
	host, _, remote := strings.Cut(to.text, ":")
	if !remote || strings.Contains(host, "/") {
		return
	}
	for _, v := range rest[:len(rest)-1] {
		if c := r.credential(v); c != "" && !isDotEnv(v.text) {
			r.sendsSecret(c, host, args[0])
		}
	}
}

// socatHost returns the host of an address of socat: TCP:host:port and its kin.
func socatHost(address string) (string, bool) {
	kind, rest, ok := strings.Cut(address, ":")
	kind = strings.ToLower(kind)
	for _, prefix := range [...]string{"tcp", "udp", "openssl", "ssl", "sctp"} {
		if ok && strings.HasPrefix(kind, prefix) && !strings.Contains(kind, "listen") && !strings.HasSuffix(kind, "-l") {
			return rest, true
		}
	}
	return "", false
}

var shellPath = lazyregexp.New(`(?i)(?:^|[/\s"':\\])(?:ba|z|da|k|c|tc|fi|a)?sh(?:\.exe)?\b|\bcmd\.exe\b|\bpowershell(?:\.exe)?\b`)

// backdoor judges a command that connects a shell with a socket.
func (r *shellReader) backdoor(name string, args []value, io redirect) {
	switch {
	case io.socket != nil && languages[name] != langNone:
		code, file, _ := interpreted(name, args[1:])
		if code == nil && file == nil || flag(args[1:], "i", "") {
			host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(io.socket.text, "/dev/tcp/"), "/dev/udp/"), "/")
			r.reverse(host, args[0])
		}
	case name == "nc" || name == "ncat" || name == "netcat":
		opts, rest := options(args[1:], "pswiqXxGgIMmOPTVWec", "exec sh-exec lua-exec")
		host := ""
		if len(rest) > 0 {
			host = rest[0].text
		}
		for _, o := range opts {
			if (o.name == "e" || o.name == "c" || o.name == "exec" || o.name == "sh-exec") && shellPath().MatchString(o.value.text) {
				r.reverse(host, args[0])
			}
		}
		if io.in.session {
			r.reverse(host, args[0])
		}
	case name == "telnet" && io.in.session && len(args) > 1:
		r.reverse(args[1].text, args[0])
	case name == "openssl" && io.in.session && subcommand(args[1:]) == "s_client":
		opts, _ := connectOption(args[1:])
		r.reverse(opts, args[0])
	case name == "socat":
		r.socat(args)
	}
}

func connectOption(args []value) (string, bool) {
	for i, v := range args {
		if v.text == "-connect" {
			return at(args, i+1).text, true
		}
	}
	return "", false
}

func (r *shellReader) socat(args []value) {
	host, network, shell := "", false, false
	for _, v := range args[1:] {
		low := strings.ToLower(v.text)
		if h, ok := socatHost(v.text); ok {
			host, network = h, true
		}
		network = network || strings.HasPrefix(low, "tcp") || strings.HasPrefix(low, "openssl")
		shell = shell || (strings.HasPrefix(low, "exec:") || strings.HasPrefix(low, "system:")) && shellPath().MatchString(low)
	}
	if network && shell {
		r.reverse(host, args[0])
	}
}

// reverse notes that a shell is connected with a socket.
func (r *shellReader) reverse(host string, place value) {
	r.network = true
	r.s.networkFind(found.ReverseShell, r.p, place.from, place.to, host, "a shell is connected with "+connected(host))
}

func connected(host string) string {
	if name, _ := hosts.Of(host); name != "" {
		return secrets.Quote(name)
	}
	return "a socket"
}

var (
	socketWords = lazyregexp.New(`(?i)\bsocket\b|fsockopen|TCPSocket|/inet/tcp/|net\.connect|TCPClient|net\.Socket`)
	startWords  = lazyregexp.New(`(?i)\bexec|dup2|spawn|popen|system|\bpty\b|Process|\biex\b|Invoke-Expression`)
	assigned    = lazyregexp.New(`=\s*["']([A-Za-z0-9._-]{3,253})["']`)
	endpoint    = lazyregexp.New(`(\d{1,3}(?:\.\d{1,3}){3})|(?i:TCPClient)\(\s*["']?([A-Za-z0-9.$_{}<>-]+)|["'(]([A-Za-z0-9.$_{}<>-]+)["']?\s*[,:]\s*["']?\d{2,5}`)
)

// otherCode judges a text in a language that no reader is for: perl, ruby, php, lua, AppleScript and
// PowerShell.
func (s *Judge) otherCode(p passage.Part) {
	if socketWords().MatchString(p.Text) && startWords().MatchString(p.Text) && (shellPath().MatchString(p.Text) || strings.Contains(p.Text, "TCPClient")) {
		host := hostIn(endpoint().FindAllStringSubmatch(p.Text, 20))
		if host == "" {
			host = hostIn(assigned().FindAllStringSubmatch(p.Text, 20))
		}
		s.networkFind(found.ReverseShell, p, 0, len(p.Text), host, "a shell is connected with "+connected(host))
	}
	s.appleScript(p)
}

// hostIn returns the first group that is the name or the address of a host, or else the first placeholder
// for one.
func hostIn(matches [][]string) (host string) {
	for _, m := range matches {
		text := strings.Join(m[1:], "")
		switch _, kind := hosts.Of(text); {
		case kind == hosts.Nobody:
			host = cmp.Or(host, text)
		case strings.Contains(text, "."):
			return text
		}
	}
	return host
}

// appleScript judges the commands of do shell script.
func (s *Judge) appleScript(p passage.Part) {
	const mark = "do shell script \""
	for at := 0; ; {
		i := strings.Index(p.Text[at:], mark)
		if i < 0 {
			return
		}
		at += i + len(mark)
		end := at
		for end < len(p.Text) && p.Text[end] != '"' {
			if p.Text[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(p.Text))
		inner := p.Slice(at, end)
		if strings.Contains(inner.Text, "\\") {
			inner = p.With(unescaped(inner.Text, true), at)
		}
		inner.Nest++
		s.Shell(inner, String)
		at = end
	}
}
