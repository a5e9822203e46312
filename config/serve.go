package config

import (
	"context"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/typo"
	"github.com/knack-dev/knack/limit"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// HTTP is the section http: the address and options of `knack serve`, as in its flags.
type HTTP struct {
	Listen          string
	Hosts, Origins  []string
	TLSCert, TLSKey string
	TokenFile       string
}

// Log is the section log: level and format of the log on standard error.
type Log struct{ Level, Format string }

// Audit is the section audit: the destination of the audit log.
type Audit struct {
	To      string // "stdout", "stderr", or a file; empty: nowhere
	MaxSize int64  // bytes of a file; 0 leaves rotation to another program
	Keep    int    // number of older files
}

// The defaults.
const (
	DefaultMaxSize = 100 << 20
	DefaultKeep    = 10
)

// Limits is the section limits. Fields are nil if the file lacks the key.
type Limits struct {
	Rate  *float64 // requests of a client a second; 0 for no limit
	Burst *int
}

// Over returns the rate that the section sets, with given as the default.
func (l Limits) Over(given limit.Rate) limit.Rate {
	if l.Rate != nil {
		given.PerSecond = *l.Rate
	}
	if l.Burst != nil {
		given.Burst = *l.Burst
	}
	return given
}

var httpKeys = []key[HTTP]{
	{"listen", "text", "", "serve over HTTP at this port or host:port, as with `--http`; it counts in a file that `--config` names", func(d *decoder, v frontmatter.Value, h *HTTP) {
		if v.Kind == frontmatter.Number { // a port
			v.Kind = frontmatter.String
		}
		const mend = "write a port, or host:port, such as 0.0.0.0:8080"
		before := len(d.problems)
		if h.Listen = d.word("http.listen", v, mend); len(d.problems) == before && !isAddress(h.Listen) {
			d.add(RuleValue, v.Position, "http.listen", mend, "http.listen is no port from 0 to 65535, nor one behind a host")
		}
	}},
	{"hosts", "list", "names of the loopback", "clients reach the server by these names, as with `--allow-host`", func(d *decoder, v frontmatter.Value, h *HTTP) {
		h.Hosts = d.names("http.hosts", v)
	}},
	{"origins", "list", "its own pages", "web pages of these origins may call the server, as with `--allow-origin`", func(d *decoder, v frontmatter.Value, h *HTTP) {
		h.Origins = d.names("http.origins", v)
	}},
	{"tls-cert", "text", "no TLS", "the certificate's file (PEM), as with `--tls-cert`", func(d *decoder, v frontmatter.Value, h *HTTP) {
		h.TLSCert = d.word("http.tls-cert", v, aFile)
	}},
	{"tls-key", "text", "no TLS", "the file of its private key (PEM), as with `--tls-key`", func(d *decoder, v frontmatter.Value, h *HTTP) {
		h.TLSKey = d.word("http.tls-key", v, aFile)
	}},
	{"token-file", "text", "", "a file with hashes of tokens, as with `--token-file`", func(d *decoder, v frontmatter.Value, h *HTTP) {
		h.TokenFile = d.word("http.token-file", v, aFile)
	}},
}

// isAddress reports whether text is an address as `--http` accepts it: a port, or
// host:port. A port may be a name.
func isAddress(text string) bool {
	if !strings.Contains(text, ":") {
		text = ":" + text
	}
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	_, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", port) // uses no network: names of ports are in a file
	return err == nil
}

const aFile = "write the path of a file; one that begins with no / lies beside this file"

func httpOf(d *decoder, v frontmatter.Value) (h HTTP) {
	section(d, "http", v, httpKeys, &h)
	if lacks(v, "tls-cert") != lacks(v, "tls-key") {
		d.add(RuleValue, v.Position, "http", "give both, or neither", "http has one of tls-cert and tls-key, and they go together")
	}
	return h
}

var logKeys = []key[Log]{
	{"level", "debug, info, warn, error", "warn", "what is said on standard error: this and what is worse", func(d *decoder, v frontmatter.Value, l *Log) {
		l.Level = d.oneOf("log.level", v, LogLevels)
	}},
	{"format", "text, json", "text", "how it is written", func(d *decoder, v frontmatter.Value, l *Log) {
		l.Format = d.oneOf("log.format", v, LogFormats)
	}},
}

// The words that the section log accepts.
var (
	LogLevels  = []string{"debug", "info", "warn", "error"}
	LogFormats = []string{"text", "json"}
)

var auditKeys = []key[Audit]{
	{"to", "text", "nothing is written", "the audit log: a file, stdout or stderr, as with `--audit`", func(d *decoder, v frontmatter.Value, a *Audit) {
		a.To = d.word("audit.to", v, "write the path of a file, stdout or stderr")
	}},
	{"max-size", "number", "100", "MiB that the file may have before another is begun; 0: it is never", func(d *decoder, v frontmatter.Value, a *Audit) {
		a.MaxSize = int64(d.number("audit.max-size", v, 0, 1<<20, true)) << 20
	}},
	{"keep", "number", "10", "how many earlier files are kept beside it, as .1, .2 and so on", func(d *decoder, v frontmatter.Value, a *Audit) {
		a.Keep = int(d.number("audit.keep", v, 1, 10_000, true))
	}},
}

func auditOf(d *decoder, v frontmatter.Value) Audit {
	a := Audit{MaxSize: DefaultMaxSize, Keep: DefaultKeep}
	section(d, "audit", v, auditKeys, &a)
	if lacks(v, "to") {
		d.add(RuleValue, v.Position, "audit.to", "write to: and the path of a file, stdout or stderr", "audit does not say where to")
	}
	return a
}

var limitKeys = []key[Limits]{
	{"rate", "number", "100", "how many requests a second a client may send in the long run; 0: as many as it likes", func(d *decoder, v frontmatter.Value, l *Limits) {
		rate := d.number("limits.rate", v, 0, 1e6, false)
		if rate > 0 && rate < 0.01 {
			d.add(RuleValue, v.Position, "limits.rate", "write 0, or 0.01 and more", "limits.rate is less than one in 100 seconds")
		}
		l.Rate = &rate
	}},
	{"burst", "number", "2000", "how many it may send at once", func(d *decoder, v frontmatter.Value, l *Limits) {
		burst := int(d.number("limits.burst", v, 1, 1e6, true))
		l.Burst = &burst
	}},
}

// word decodes a text that is not blank.
func (d *decoder) word(at string, v frontmatter.Value, mend string) string {
	text := strings.TrimSpace(v.Text)
	if v.Kind != frontmatter.String || text == "" {
		d.add(RuleValue, v.Position, at, mend, "%s is no text", at)
	}
	return text
}

func (d *decoder) oneOf(at string, v frontmatter.Value, words []string) string {
	if v.Kind != frontmatter.String || !slices.Contains(words, v.Text) {
		mend := "write one of " + strings.Join(words, ", ")
		if best := typo.Nearest(v.Text, words); v.Kind == frontmatter.String && best != "" {
			mend = "did you mean " + best + "?"
		}
		d.add(RuleValue, v.Position, at, mend, "%s is not one of %s", shown(v), strings.Join(words, ", "))
	}
	return v.Text
}

// number decodes a number within bounds.
func (d *decoder) number(at string, v frontmatter.Value, least, most float64, whole bool) float64 {
	n, err := strconv.ParseFloat(v.Text, 64)
	if v.Kind != frontmatter.Number || err != nil || n < least || n > most || whole && n != math.Trunc(n) {
		kind := "number"
		if whole {
			kind = "whole number"
		}
		mend := "write a " + kind + " from " + strconv.FormatFloat(least, 'f', -1, 64) + " to " + strconv.FormatFloat(most, 'f', -1, 64)
		d.add(RuleValue, v.Position, at, mend, "%s is no such number", at)
		return least
	}
	return n
}

// Stale returns the keys that differ from the file with which a server was started and take
// effect only after a restart.
func (c Config) Stale(started Config) (keys []string) {
	for _, k := range []struct {
		key string
		of  func(*Config) string
	}{
		{"http.listen", func(c *Config) string { return c.HTTP.Listen }},
		{"http.hosts", func(c *Config) string { return strings.Join(c.HTTP.Hosts, "\x00") }},
		{"http.origins", func(c *Config) string { return strings.Join(c.HTTP.Origins, "\x00") }},
		{"http.tls-cert", func(c *Config) string { return c.HTTP.TLSCert }},
		{"http.tls-key", func(c *Config) string { return c.HTTP.TLSKey }},
		{"http.token-file", func(c *Config) string { return c.HTTP.TokenFile }},
		{"log.format", func(c *Config) string { return c.Log.Format }},
		{"audit.to", func(c *Config) string { return c.Audit.To }},
		{"audit.max-size", func(c *Config) string { return strconv.FormatInt(c.Audit.MaxSize, 10) }},
		{"audit.keep", func(c *Config) string { return strconv.Itoa(c.Audit.Keep) }},
	} {
		if k.of(&c) != k.of(&started) {
			keys = append(keys, k.key)
		}
	}
	return keys
}

// serveDocument lists the keys of the sections of a server, for the documentation.
func serveDocument() []Key {
	return slices.Concat(keysOf("http.", httpKeys), keysOf("log.", logKeys), keysOf("audit.", auditKeys), keysOf("limits.", limitKeys))
}
