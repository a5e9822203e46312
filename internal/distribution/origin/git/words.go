package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// transcript is git's output on stderr: its progress, and finally the reason of a failure.
type transcript struct {
	received func(int64) error
	stop     context.CancelCauseFunc
	location *string // gets the last location in a trace of headers, if set

	mu    sync.Mutex
	line  []byte
	lines []string // the last lines, without progress
}

// Bounds of the stored lines. A server can send any amount of text.
const (
	maxSaid  = 40
	maxWidth = 1000 // of a line, in bytes
)

var arriving = lazyregexp.New(`^(?:Receiving|Unpacking) objects: .*?, ([0-9]+(?:\.[0-9]+)?) (bytes|KiB|MiB|GiB)`)

var units = map[string]float64{"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

// Write splits the output into lines. Progress lines end with a carriage return.
func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for rest := p; len(rest) > 0; {
		end := bytes.IndexAny(rest, "\r\n")
		if end < 0 {
			end = len(rest)
		}
		t.line = append(t.line, rest[:min(end, maxWidth-min(maxWidth, len(t.line)))]...)
		if end == len(rest) {
			break
		}
		t.end()
		rest = rest[end+1:]
	}
	return len(p), nil
}

// end processes a complete line.
func (t *transcript) end() {
	line := strings.TrimSpace(string(t.line))
	t.line = t.line[:0]
	if t.location != nil {
		if _, header, ok := strings.Cut(line, "<= Recv header: "); ok && len(line) < maxWidth {
			if name, value, _ := strings.Cut(header, ":"); strings.EqualFold(name, "location") {
				*t.location = strings.TrimSpace(value)
			}
		}
	}
	if m := arriving().FindStringSubmatch(line); m != nil {
		if n, err := strconv.ParseFloat(m[1], 64); err == nil && t.received != nil {
			if err := t.received(int64(n * units[m[2]])); err != nil {
				t.stop(err)
			}
		}
		return
	}
	if line == "" {
		return
	}
	if t.lines = append(t.lines, line); len(t.lines) > maxSaid {
		t.lines = t.lines[1:]
	}
}

// Failures of git that the caller of run can handle.
var (
	errOccupied = errors.New("another process is writing into it")
	errObject   = errors.New("the repository has an object that git refuses, since it is damaged or leads out of its folder: ask its author to run git fsck")
	errUnknown  = errors.New("git failed")

	errRedirect = errors.New("the server leads to another address: name that one")

	errNoCommit error = &origin.Gone{Message: "the server does not have this commit any more, or does not give it"}
)

// failure is a kind of git error, with advice for the user.
type failure struct {
	signs []string // texts in git's output, ignoring case; one is enough
	err   error
}

var failures = []failure{
	{[]string{".lock': File exists"}, errOccupied},
	{[]string{"not our ref", "unadvertised object", "couldn't find remote ref"}, errNoCommit},
	{[]string{"fsck error in packed object"}, errObject},
	{[]string{"repository corruption on the remote side", "protocol error: bad pack header"}, errors.New("the repository at the server is damaged: ask its owner to run git fsck there")},
	{[]string{"dubious ownership"}, errors.New("the repository belongs to another user of this machine; if you trust it, run git config --global --add safe.directory with its path")},
	{[]string{"' not allowed"}, errors.New("git would use a protocol that knack does not allow; look for insteadOf in git config --list")},
	{[]string{"Host key verification failed"}, errors.New("the key of the ssh server is not known: connect to it once with ssh, and compare the key")},
	{[]string{"Permission denied (", "Permission denied, please try again", "Too many authentication failures"}, errors.New("the ssh server does not take your key: see that ssh-add -l lists it, or use https")},
	{[]string{"could not read Username", "could not read Password", "terminal prompts disabled", "Authentication failed", "HTTP Basic: Access denied", "Invalid username or", "returned error: 403", "returned error: 401"},
		errors.New("the server wants a user name and a password, or the repository does not exist: check its name, and log in for git (gh auth login, or a credential helper)")},
	{[]string{"Repository not found", "returned error: 404", "does not exist", "does not appear to be a git repository", "/info/refs not found", "could not be found", "' not found", "not valid: is this a git repository"},
		errors.New("there is no such repository, or you may not see it: check its name, and that git can log in")},
	{[]string{"returned error: 30"}, errRedirect},
	{[]string{"Could not resolve host"}, errors.New("the name of the server is not known: check it, and your network")},
	{[]string{"unexpected TLS packet", "wrong version number", "packet length too long"}, errors.New("the server does not speak https at this address: check its port")},
	{[]string{"SSL certificate", "certificate verif", "SSL_ERROR", "SSL routines", "gnutls_handshake"}, errors.New("the server's TLS certificate is not trusted: set http.sslCAInfo in git's settings if it is one of your own")},
	{[]string{"Connection refused", "Failed to connect", "Could not connect", "timed out", "Operation too slow", "Network is unreachable", "No route to host", "Connection reset"}, errors.New("the server cannot be reached: check your network and proxy, and try again")},
	{[]string{"No space left on device"}, errors.New("the disk is full")},
	{[]string{"early EOF", "unexpected disconnect", "hung up unexpectedly", "RPC failed", "invalid index-pack output"}, errors.New("the connection broke off, or the server sent something that is not a repository: try again")},
}

// reason returns the reason of git's failure.
func (t *transcript) reason(command string, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
	last := t.last()
	all := strings.ToLower(strings.Join(t.lines, "\n"))
	for _, f := range failures {
		for _, sign := range f.signs {
			if strings.Contains(all, strings.ToLower(sign)) {
				return withMessage(f.err, last)
			}
		}
	}
	return withMessage(fmt.Errorf("%w at %s (%w)", errUnknown, command, err), last)
}

func withMessage(err error, last string) error {
	if last == "" {
		return err
	}
	return fmt.Errorf("%w. git says: %s", err, last)
}

// last returns the most informative line: git's last error, without its advice. It skips lines
// from a server, which could repeat secrets that it received.
func (t *transcript) last() (line string) {
	for _, prefix := range []string{"error: object ", "fatal: ", "error: ", ""} {
		for _, l := range t.lines {
			text, ok := strings.CutPrefix(l, prefix)
			if strings.HasPrefix(text, "remote error:") {
				text = "remote error (git ls-remote shows its text, which may repeat what was sent)"
			}
			if ok && !strings.HasPrefix(text, "remote:") && !strings.HasPrefix(text, "hint:") && !strings.HasPrefix(text, "warning:") {
				line = text
			}
		}
		if line != "" {
			return clean(line)
		}
	}
	return ""
}

var (
	userinfo = lazyregexp.New(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/'"]*@`)
	query    = lazyregexp.New(`[?#][^\s'"]*`)
)

// clean makes a line of git safe to show. It removes user names, passwords and queries of URLs,
// and words that look like secrets.
func clean(line string) string {
	line = query().ReplaceAllString(userinfo().ReplaceAllString(line, "$1"), "")
	words := strings.Fields(display.OneLine(line))
	redacted := display.RedactWords(words)
	for i, w := range words {
		if i > 0 && (strings.EqualFold(words[i-1], "basic") || strings.EqualFold(words[i-1], "bearer")) {
			redacted[i] = "[redacted]"
		} else if isCommit(strings.Trim(w, `'",.:`)) || strings.Contains(w, "://") {
			redacted[i] = w
		}
	}
	return display.Cut(strings.Join(redacted, " "), 300)
}
