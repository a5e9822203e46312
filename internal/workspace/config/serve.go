package config

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/base/hosts"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// HTTP is the section http: the address and options of `knack serve`, as in its flags.
type HTTP struct {
	Listen          string
	Hosts, Origins  []string
	TLSCert, TLSKey string
	TokenFile       string
	NoAuth          bool // tokens are not required
	Proxies         []netip.Prefix
}

// Log is the section log: level and format of the log on standard error.
type Log struct{ Level, Format string }

// Audit is the section audit: the destination of the audit log.
type Audit struct {
	To      string // "stdout", "stderr", or a file; empty means nowhere
	MaxSize int64  // bytes of a file; 0 leaves rotation to another program
	Keep    int    // number of older files
}

// Usage is the section usage: the file for the usage counts.
type Usage struct{ File string }

// DefaultAudit holds the defaults of the section audit: 100 MiB in a file and 10 older files.
var DefaultAudit = Audit{MaxSize: 100 << 20, Keep: 10}

// Limits is the section limits. Fields are nil if the file lacks the key.
type Limits struct {
	Rate  *float64 // requests of a client a second; 0 means no limit
	Burst *int
}

// Apply returns the rate that the section sets, with given as the default.
func (l Limits) Apply(given limit.Rate) limit.Rate {
	if l.Rate != nil {
		given.PerSecond = *l.Rate
	}
	if l.Burst != nil {
		given.Burst = *l.Burst
	}
	return given
}

var httpKeys = []key[HTTP]{
	{"listen", "text", "", "serve over HTTP at this port or host:port, as with `--http`; used only in a file given with `--config`", func(d *decoder, v frontmatter.Value, h *HTTP) {
		if v.Kind == frontmatter.Number { // a port
			v.Kind = frontmatter.String
		}
		const fix = "write a port, or host:port, such as 0.0.0.0:8080"
		var ok bool
		if h.Listen, ok = d.textOK("http.listen", v, fix); !ok {
			return
		}
		if _, _, err := hosts.Listen(h.Listen); err != nil {
			d.add(ruleValue, v.Position, "http.listen", fix, "http.listen %s", err)
		}
	}},
	{"hosts", "list", "loopback names", "clients reach the server by these names, as with `--allow-host`", func(d *decoder, v frontmatter.Value, h *HTTP) {
		h.Hosts = d.parsed("http.hosts", v, hosts.Host, "is no host", hosts.WriteHost)
	}},
	{"origins", "list", "its own pages", "web pages of these origins may call the server, as with `--allow-origin`", func(d *decoder, v frontmatter.Value, h *HTTP) {
		h.Origins = d.parsed("http.origins", v, hosts.Parse, "is no origin", hosts.WriteOrigin)
	}},
	{"tls-cert", "text", "no TLS", "the certificate's file (PEM), as with `--tls-cert`", func(d *decoder, v frontmatter.Value, h *HTTP) {
		h.TLSCert = d.text("http.tls-cert", v, writeAFile)
	}},
	{"tls-key", "text", "no TLS", "the file of its private key (PEM), as with `--tls-key`", func(d *decoder, v frontmatter.Value, h *HTTP) {
		h.TLSKey = d.text("http.tls-key", v, writeAFile)
	}},
	{"token-file", "text", "", "a file with hashes of tokens, as with `--token-file`", func(d *decoder, v frontmatter.Value, h *HTTP) {
		h.TokenFile = d.text("http.token-file", v, writeAFile)
	}},
	{"no-auth", "boolean", "false", "each client that reaches the address may read every skill that no rule hides, as with `--no-auth`; not together with tokens", func(d *decoder, v frontmatter.Value, h *HTTP) {
		h.NoAuth = d.isTrue("http.no-auth", v)
	}},
	{"proxies", "list", "none", "networks of proxies whose `X-Forwarded-For`, `-Host` and `-Proto` are believed, such as 10.0.0.0/8", func(d *decoder, v frontmatter.Value, h *HTTP) {
		for i, text := range d.names("http.proxies", v) {
			p, err := netip.ParsePrefix(text)
			if at, alone := netip.ParseAddr(text); alone == nil {
				p, err = netip.PrefixFrom(at, at.BitLen()), nil
			}
			if text != "" && (err != nil || p.Bits() == 0) {
				d.add(ruleValue, v.Items[i].Position, "http.proxies", "write the address of your proxy, or its network, such as 10.0.0.0/8", "%s is not the network of a proxy", describe(v.Items[i]))
			}
			h.Proxies = append(h.Proxies, p.Masked())
		}
	}},
}

// parsed decodes a list of names. The function parse must accept each name.
func (d *decoder) parsed(at string, v frontmatter.Value, parse func(string) (string, bool), what, fix string) (all []string) {
	for i, name := range d.names(at, v) {
		if _, ok := parse(name); !ok && name != "" {
			d.add(ruleValue, v.Items[i].Position, at, fix, "%s %s", describe(v.Items[i]), what)
		}
		all = append(all, name)
	}
	return all
}

// checkOpen reports a file that turns tokens off and also configures tokens or a sign-in.
func checkOpen(d *decoder, v frontmatter.Value, c Config) {
	tokens := "http.token-file"
	switch {
	case !c.HTTP.NoAuth, c.HTTP.TokenFile == "" && len(c.Access.Tokens) == 0 && c.SignIn.Issuer == "":
		return
	case c.SignIn.Issuer != "":
		tokens = "sign-in"
	case len(c.Access.Tokens) > 0:
		tokens = "access.tokens"
	}
	for _, section := range v.Fields {
		for _, f := range section.Value.Fields {
			if section.Key == "http" && f.Key == "no-auth" {
				d.add(ruleValue, f.Value.Position, "http.no-auth", "leave out http.no-auth, or "+tokens, "http.no-auth and %s contradict each other", tokens)
			}
		}
	}
}

// checkShared reports a usage file that another key also names. The server would overwrite that
// file, such as the audit log, with its counts.
func checkShared(d *decoder, v frontmatter.Value, c Config) {
	if c.Usage.File == "" {
		return
	}
	var at frontmatter.Position
	for _, section := range v.Fields {
		for _, f := range section.Value.Fields {
			if section.Key == "usage" && f.Key == "file" {
				at = f.Value.Position
			}
		}
	}
	for _, other := range []struct{ key, file string }{
		{"audit.to", c.Audit.To}, {"http.tls-cert", c.HTTP.TLSCert}, {"http.tls-key", c.HTTP.TLSKey}, {"http.token-file", c.HTTP.TokenFile}, {"sign-in.client-secret-file", c.SignIn.ClientSecretFile}, {"approvals", c.Approvals.Text},
	} {
		if other.file != "" && filepath.Clean(other.file) == filepath.Clean(c.Usage.File) {
			d.add(ruleValue, at, "usage.file", "write the path of a file that nothing else uses", "usage.file is the file of %s", other.key)
			return
		}
	}
}

const (
	writeAFile     = "write the path of a file; a relative path starts at this file's folder"
	writeWholePath = "write the whole path; a relative one starts at this file's folder"
)

func decodeHTTP(d *decoder, v frontmatter.Value) (h HTTP) {
	section(d, "http", v, httpKeys, &h)
	if lacks(v, "tls-cert") != lacks(v, "tls-key") {
		d.add(ruleValue, v.Position, "http", "give both, or neither", "http has only one of tls-cert and tls-key")
	}
	return h
}

var logKeys = []key[Log]{
	{"level", "debug, info, warn, error", "warn", "the log has messages of this level and above", func(d *decoder, v frontmatter.Value, l *Log) {
		l.Level = d.oneOf("log.level", v, LogLevels)
	}},
	{"format", "text, json", "text", "the format of the log", func(d *decoder, v frontmatter.Value, l *Log) {
		l.Format = d.oneOf("log.format", v, LogFormats)
	}},
}

// Words that the section log accepts.
var (
	LogLevels  = []string{"debug", "info", "warn", "error"}
	LogFormats = []string{"text", "json"}
)

var auditKeys = []key[Audit]{
	{"to", "text", "no audit log", "the audit log: a file, stdout or stderr, as with `--audit`", func(d *decoder, v frontmatter.Value, a *Audit) {
		a.To = d.text("audit.to", v, "write the path of a file, stdout or stderr")
	}},
	{"max-size", "number", "100", "the size in MiB at which a new file is started; 0 for never", func(d *decoder, v frontmatter.Value, a *Audit) {
		a.MaxSize = int64(d.number("audit.max-size", v, 0, 1<<20, true)) << 20
	}},
	{"keep", "number", "10", "the number of older files to keep beside it, as .1, .2 and so on", func(d *decoder, v frontmatter.Value, a *Audit) {
		a.Keep = int(d.number("audit.keep", v, 1, 10_000, true))
	}},
}

func decodeAudit(d *decoder, v frontmatter.Value) Audit {
	a := DefaultAudit
	section(d, "audit", v, auditKeys, &a)
	if lacks(v, "to") {
		d.add(ruleValue, v.Position, "audit.to", "write to: and the path of a file, stdout or stderr", "audit has no destination")
	}
	return a
}

var usageKeys = []key[Usage]{
	{"file", "text", "in memory", "the file that keeps the counts of usage over a restart", func(d *decoder, v frontmatter.Value, u *Usage) {
		u.File = d.text("usage.file", v, writeAFile)
	}},
}

func decodeUsage(d *decoder, v frontmatter.Value) (u Usage) {
	section(d, "usage", v, usageKeys, &u)
	if lacks(v, "file") {
		d.add(ruleValue, v.Position, "usage.file", "write file: and the path of a file, or remove the section", "usage has no file")
	}
	return u
}

var limitKeys = []key[Limits]{
	{"rate", "number", "100", "the requests a second that a client may send on average; 0 for no limit", func(d *decoder, v frontmatter.Value, l *Limits) {
		rate := d.number("limits.rate", v, 0, 1e6, false)
		if rate > 0 && rate < 0.01 {
			d.add(ruleValue, v.Position, "limits.rate", "write 0, or 0.01 and more", "limits.rate is less than one in 100 seconds")
		}
		l.Rate = &rate
	}},
	{"burst", "number", "2000", "the requests that a client may send at once", func(d *decoder, v frontmatter.Value, l *Limits) {
		burst := int(d.number("limits.burst", v, 1, 1e6, true))
		l.Burst = &burst
	}},
}

// text decodes a text that is not blank.
func (d *decoder) text(at string, v frontmatter.Value, fix string) string {
	text, _ := d.textOK(at, v, fix)
	return text
}

// textOK decodes a text that is not blank. ok is false for other values.
func (d *decoder) textOK(at string, v frontmatter.Value, fix string) (text string, ok bool) {
	text = strings.TrimSpace(v.Text)
	if ok = v.Kind == frontmatter.String && text != ""; !ok {
		d.add(ruleValue, v.Position, at, fix, "%s is not text", at)
	}
	return text, ok
}

// refuseTilde reports a path that begins with ~.
func (d *decoder) refuseTilde(at string, p frontmatter.Position, path, fix string) {
	if strings.HasPrefix(path, "~") {
		d.add(ruleValue, p, at, fix, "%s begins with ~, which no shell replaces here", at)
	}
}

func (d *decoder) oneOf(at string, v frontmatter.Value, words []string) string {
	if v.Kind != frontmatter.String || !slices.Contains(words, v.Text) {
		fix := "write one of " + strings.Join(words, ", ")
		if v.Kind == frontmatter.String {
			fix = nearestOr(v.Text, words, fix)
		}
		d.add(ruleValue, v.Position, at, fix, "%s is not one of %s", describe(v), strings.Join(words, ", "))
	}
	return v.Text
}

// number decodes a number within limits.
func (d *decoder) number(at string, v frontmatter.Value, least, most float64, whole bool) float64 {
	n, err := strconv.ParseFloat(v.Text, 64)
	if v.Kind != frontmatter.Number || err != nil || n < least || n > most || whole && n != math.Trunc(n) {
		kind := "number"
		if whole {
			kind = "whole number"
		}
		fix := "write a " + kind + " from " + strconv.FormatFloat(least, 'f', -1, 64) + " to " + strconv.FormatFloat(most, 'f', -1, 64)
		d.add(ruleValue, v.Position, at, fix, "%s is not such a number", at)
		return least
	}
	return n
}

// NeedRestart returns the keys whose changes take effect only after a restart. started is the
// configuration with which the server started.
func (c Config) NeedRestart(started Config) (keys []string) {
	for _, k := range []struct {
		key   string
		value func(*Config) string
	}{
		{"roots", func(c *Config) string { return rootsText(c.Roots) }},
		{"sources", func(c *Config) string { return sourcesText(c.Sources) }},
		{"store.dir", func(c *Config) string { return c.Store.Dir }},
		{"store.keep", func(c *Config) string { return cmp.Or(c.Store.Keep, DefaultKeep).String() }},
		{"poll", func(c *Config) string { return cmp.Or(c.Poll, DefaultPoll).String() }},
		{"sign-in", func(c *Config) string { return c.SignIn.key() }},
		{"http.listen", func(c *Config) string { return c.HTTP.Listen }},
		{"http.hosts", func(c *Config) string { return strings.Join(c.HTTP.Hosts, "\x00") }},
		{"http.origins", func(c *Config) string { return strings.Join(c.HTTP.Origins, "\x00") }},
		{"http.tls-cert", func(c *Config) string { return c.HTTP.TLSCert }},
		{"http.tls-key", func(c *Config) string { return c.HTTP.TLSKey }},
		{"http.token-file", func(c *Config) string { return c.HTTP.TokenFile }},
		{"http.no-auth", func(c *Config) string { return strconv.FormatBool(c.HTTP.NoAuth) }},
		{"http.proxies", func(c *Config) string { return fmt.Sprint(c.HTTP.Proxies) }},
		{"log.format", func(c *Config) string { return c.Log.Format }},
		{"audit.to", func(c *Config) string { return c.Audit.To }},
		{"audit.max-size", func(c *Config) string { return strconv.FormatInt(c.Audit.MaxSize, 10) }},
		{"audit.keep", func(c *Config) string { return strconv.Itoa(c.Audit.Keep) }},
		{"lock", func(c *Config) string { return strings.TrimPrefix(c.Lock.Text, LockWarn) }},
		{"trust", func(c *Config) string { return trustText(c.Trust) }},
		{"scan", func(c *Config) string { return scanText(c.Scan) }},
		{"approvals", func(c *Config) string { return c.Approvals.Text }},
		{"usage.file", func(c *Config) string { return c.Usage.File }},
	} {
		if k.value(&c) != k.value(&started) {
			keys = append(keys, k.key)
		}
	}
	return keys
}
