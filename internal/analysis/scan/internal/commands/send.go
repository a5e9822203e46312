package commands

import (
	"cmp"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// credential returns the credentials in a value, or the path of credentials that the value names.
// It records that the script names such a path.
func (r *shellReader) credential(v value) string {
	if v.secret != "" {
		return v.secret
	}
	c := credentialIn(v.text)
	if c != "" && r.secret == nil && !words.IsDotEnv(v.text) {
		r.secret = &secretUse{c, v.from, v.to}
	}
	return c
}

// credentialIn returns the text if it is the path of a file with credentials, and otherwise "".
func credentialIn(text string) string {
	if words.Credential(text) {
		return text
	}
	return ""
}

// judgeRequest judges the content that a request sends.
func (r *shellReader) judgeRequest(q request, place value, io redirect) {
	var secret value
	for _, v := range append(q.bodies[:len(q.bodies):len(q.bodies)], q.urls...) {
		secret = secret.merge(v)
		for _, mark := range [...]string{"@", "=@", "=<"} {
			i := strings.Index(v.text, mark)
			if i < 0 || i > 0 && mark == "@" {
				continue
			}
			file, _, _ := strings.Cut(v.text[i+len(mark):], ";")
			secret = secret.merge(r.content(value{text: file, from: v.from, to: v.to}))
		}
	}
	for _, v := range q.files {
		secret = secret.merge(r.content(v))
	}
	if q.stdin {
		secret = secret.merge(io.in)
	}
	if secret.secret == "" || len(q.urls) == 0 {
		return
	}
	r.requestSends(secret, q.urls[0].text, place)
}

// requestSends reports that a request sends the credentials in a value. In a script, a placeholder
// for the host does not excuse sending a key or a keychain: documentation contains such
// placeholders, but honest scripts do not.
func (r *shellReader) requestSends(v value, destination string, place value) {
	host, kind := words.Of(destination)
	isKey := v.secret != wholeEnvironment && !words.IsDotEnv(v.secret) && !v.mild
	if isKey && kind == words.Nobody && !words.IsLocal(host) && !r.inMarkdown() {
		r.s.exampleHost(host)
		r.s.Find(passage.SendSecret, r.p, place.from, place.to, sent(v, destination))
		return
	}
	r.sendsSecret(v, destination, place)
}

// sendsSecret reports that the credentials in a value are sent to a destination.
func (r *shellReader) sendsSecret(v value, destination string, place value) {
	if v.mild {
		v.mild = false
		r.s.looking(func() { r.sendsSecret(v, destination, place) })
		return
	}
	r.s.networkFind(passage.SendSecret, r.p, place.from, place.to, destination, sent(v, destination))
}

// sent returns the message of a finding that the credentials in a value are sent to a destination.
func sent(v value, destination string) string {
	to := "a host"
	if host, _ := words.Of(destination); host != "" {
		to = secrets.Quote(host)
	}
	return secrets.Quote(v.secret) + " is sent to " + to
}

// send judges a program that sends a file or its input, and returns the host's response.
func (r *shellReader) send(name string, args []value, io redirect) (out value) {
	host := ""
	switch name {
	case "scp", "rsync":
		r.copied(args)
		return value{}
	case "dig", "nslookup", "host":
		for _, v := range args[1:] {
			if v.secret != "" {
				r.sendsSecret(v, strings.TrimLeft(v.text, "."), args[0])
			}
		}
		return value{}
	case "ssh":
		_, rest := options(args[1:], "BbcDEeFIiJLlmOoPpQRSWw", "")
		if len(rest) > 0 {
			r.destination(rest[0].text)
		}
		if len(rest) > 0 && io.in.secret != "" && !words.IsDotEnv(io.in.secret) {
			r.sendsSecret(io.in, rest[0].text, args[0])
		}
		return value{}
	case "socat":
		for _, v := range args[1:] {
			if h, ok := socatHost(v.text); ok {
				host = h
			}
		}
	case "mail", "mailx", "mutt", "sendmail":
		if len(args) > 1 {
			host = args[len(args)-1].text
		}
	default:
		if _, rest := options(args[1:], "pswiqXxGgIMmOPTVW", ""); len(rest) > 0 {
			host = rest[0].text
		}
	}
	r.network = true
	if host != "" && io.in.secret != "" {
		r.sendsSecret(io.in, host, args[0])
	}
	if host == "" || flag(args[1:], "lz", "listen") {
		return value{}
	}
	return value{fetched: []string{"tcp://" + host}, from: args[0].from, to: args[0].to}
}

// remoteHost returns the host of an scp or rsync operand such as user@host:path.
func remoteHost(operand string) (string, bool) {
	host, _, remote := strings.Cut(operand, ":")
	return host, remote && !strings.Contains(host, "/")
}

// copied judges scp and rsync, whose last argument is the destination.
func (r *shellReader) copied(args []value) {
	_, rest := options(args[1:], "iFoPcJSlDefTB", "rsh exclude include filter password-file files-from")
	if len(rest) < 2 {
		return
	}
	for i, v := range rest {
		switch host, remote := remoteHost(v.text); {
		case remote:
			r.destination(host)
		case i < len(rest)-1:
			r.reads(v)
		default:
			r.writes(v)
		}
	}
	host, remote := remoteHost(rest[len(rest)-1].text)
	if !remote {
		return
	}
	for _, v := range rest[:len(rest)-1] {
		c := r.credential(v)
		if c == "" && words.HoldsCredentials(v.text) {
			c = v.text
		}
		if c != "" && !words.IsDotEnv(v.text) {
			r.sendsSecret(value{secret: c}, host, args[0])
		}
	}
}

// socatHost returns the host of a socat address, such as TCP:host:port.
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

const shellPathText = `(?i:(?:^|[/\s"':\\])(?:ba|z|da|k|c|tc|fi|a)?sh(?:\.exe)?\b|\bcmd\.exe\b|\bpowershell(?:\.exe)?\b)`

var shellPath = lazyregexp.New(shellPathText)

// backdoor judges a command that connects a shell to a socket.
func (r *shellReader) backdoor(name string, args []value, io redirect) {
	switch {
	case io.socket != nil && languages()[name] != langNone:
		code, file, _ := interpreted(name, args[1:])
		if code == nil && file == nil || flag(args[1:], "i", "") {
			host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(io.socket.text, "/dev/tcp/"), "/dev/udp/"), "/")
			r.reverse(host, host == "" && io.socket.known, args[0])
		}
	case name == "nc" || name == "ncat" || name == "netcat":
		opts, rest := options(args[1:], "pswiqXxGgIMmOPTVWec", "exec sh-exec lua-exec")
		host, none := "", len(rest) == 0 && !flag(args[1:], "l", "listen")
		if len(rest) > 0 {
			host = rest[0].text
		}
		for _, o := range opts {
			if (o.name == "e" || o.name == "c" || o.name == "exec" || o.name == "sh-exec") && shellPath().MatchString(o.value.text) {
				r.reverse(host, none, args[0])
			}
		}
		if io.in.session {
			r.reverse(host, none, args[0])
		}
	case name == "telnet" && io.in.session && len(args) > 1:
		r.reverse(args[1].text, false, args[0])
	case name == "openssl" && io.in.session && subcommand(args[1:]) == "s_client":
		opts, _ := connectOption(args[1:])
		r.reverse(opts, false, args[0])
	case name == "socat":
		r.socat(args)
	}
}

func connectOption(args []value) (string, bool) {
	for i, v := range args {
		if v.text == "-connect" {
			return argument(args, i+1).text, true
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
		r.reverse(host, false, args[0])
	}
}

// reverse reports that a shell is connected to a socket. none is true if the command has no host
// and does not listen. A host with an unknown name counts as a host.
func (r *shellReader) reverse(host string, none bool, place value) {
	r.network = true
	find := func() {
		r.s.networkFind(passage.ReverseShell, r.p, place.from, place.to, host, "a shell is connected with "+connected(host))
	}
	if none { // as in a text about such commands
		r.s.looking(find)
		return
	}
	find()
}

func connected(host string) string {
	if name, _ := words.Of(host); name != "" {
		return secrets.Quote(name)
	}
	return "a socket"
}

var (
	socketWords = lazyregexp.New(`(?i)\bsocket\b|fsockopen|TCPSocket|/inet/tcp/|net\.connect|TCPClient|net\.Socket`)
	startWords  = lazyregexp.New(`(?i)\bexec|dup2|spawn|popen|system|\bpty\b|Process|\biex\b|Invoke-Expression`)
	socketShell = lazyregexp.New(`TCPClient|\b(?:IO\.)?popen\(\s*\w+\s*[,)]|` + shellPathText)
	assigned    = lazyregexp.New(`=\s*["']([A-Za-z0-9._-]{3,253})["']`)
	endpoint    = lazyregexp.New(`(\d{1,3}(?:\.\d{1,3}){3})|(?i:TCPClient)\(\s*["']?([A-Za-z0-9.$_{}<>-]+)|["'(]([A-Za-z0-9.$_{}<>-]+)["']?\s*[,:]\s*["']?\d{2,5}`)
)

// otherCode judges a text in a language without a reader: perl, ruby, php, lua, AppleScript and
// PowerShell.
func (s *Analyzer) otherCode(p passage.Part) {
	if socketWords().MatchString(p.Text) && startWords().MatchString(p.Text) && socketShell().MatchString(p.Text) {
		host := hostIn(endpoint().FindAllStringSubmatch(p.Text, 20))
		if host == "" {
			host = hostIn(assigned().FindAllStringSubmatch(p.Text, 20))
		}
		s.networkFind(passage.ReverseShell, p, 0, len(p.Text), host, "a shell is connected with "+connected(host))
	}
	s.appleScript(p)
}

// hostIn returns the first matched host name or address. If there is none, it returns the first
// matched placeholder for a host.
func hostIn(matches [][]string) (host string) {
	for _, m := range matches {
		text := strings.Join(m[1:], "")
		switch _, kind := words.Of(text); {
		case kind == words.Nobody:
			host = cmp.Or(host, text)
		case strings.Contains(text, "."):
			return text
		}
	}
	return host
}

// appleScript judges the shell commands in AppleScript's "do shell script".
func (s *Analyzer) appleScript(p passage.Part) {
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
