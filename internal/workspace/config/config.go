// Package config reads knack.yaml.
//
// The file is strict: an unknown key or value is a problem with its position and, if there
// is a similar key, a suggestion. A section is a type, a table of its keys and a row in the
// table of [Config]. doc/configuration.md and the messages come from the tables. The
// package opens no files and does not know their paths.
package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/policy/admission"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Name is the file's name, in a project and in the user's folder.
const Name = "knack.yaml"

// MaxSize limits the bytes of a file.
const MaxSize = 1 << 20

// Rules of a file's problems, in addition to the YAML rules.
const (
	ruleKey   skill.RuleID = "config-key"   // an unknown key
	ruleValue skill.RuleID = "config-value" // a value that the key does not accept
)

// Config is a whole file. Keys that the file lacks are zero.
type Config struct {
	Check   Check
	Project Project
	Roots   []Root
	Access  Access
	SignIn  SignIn
	HTTP    HTTP
	Log     Log
	Audit   Audit
	Usage   Usage
	Limits  Limits
	Lock    Word // one of lockModes; zero if the file lacks the key
	Sources []Source
	Store   Store
	Poll    time.Duration // 0 means [DefaultPoll]
	Trust   []Trust
	Scan    admission.Config
	Servers []Server
	// Approvals is the path of the file of approvals, relative to the folder of the configuration;
	// zero if the file lacks the key.
	Approvals Word
	Chat      Chat
}

var root = []key[Config]{
	{"check", "section", "", "the rules of `knack check`", func(d *decoder, v frontmatter.Value, c *Config) {
		section(d, "check", v, checkKeys, &c.Check)
	}},
	{"project", "section", "", "the skills that a project offers, in the project's own file", func(d *decoder, v frontmatter.Value, c *Config) {
		section(d, "project", v, projectKeys, &c.Project)
	}},
	{"roots", "list", "the well-known folders", "the folders with the skills of a server, each with a label of its own", func(d *decoder, v frontmatter.Value, c *Config) {
		c.Roots = decodeRoots(d, v)
	}},
	{"sources", "list", "none", "places outside whose skills `knack serve` fetches and follows", func(d *decoder, v frontmatter.Value, c *Config) {
		c.Sources = decodeSources(d, v)
	}},
	{"store", "section", "", "where `knack serve` and `knack pull` keep the skills of sources", func(d *decoder, v frontmatter.Value, c *Config) {
		section(d, "store", v, storeKeys, &c.Store)
	}},
	{"poll", "duration", "30s", "how often `knack serve` asks each of `sources` for a new release", func(d *decoder, v frontmatter.Value, c *Config) {
		c.Poll = d.duration("poll", v, minPoll, maxPoll, "write seconds or minutes, such as 30s")
	}},
	{"lock", "warn, enforce, off", "warn", "whether skills are compared with the `knack.lock` of their folders; with `enforce`, only skills that are as locked are served", func(d *decoder, v frontmatter.Value, c *Config) {
		c.Lock = Word{d.oneOf("lock", v, lockModes), v.Position}
	}},
	{"trust", "list", "", "the keys that sign releases in registries, and the sources that must be signed", func(d *decoder, v frontmatter.Value, c *Config) {
		c.Trust = decodeTrust(d, v)
	}},
	{"scan", "section", "", "what `knack serve` does with the findings of `knack scan`", func(d *decoder, v frontmatter.Value, c *Config) {
		section(d, "scan", v, scanKeys, &c.Scan)
	}},
	{"approvals", "path", "approvals.json beside this file", "the file of the approvals that `knack approve` writes", func(d *decoder, v frontmatter.Value, c *Config) {
		c.Approvals = decodeApprovals(d, v)
	}},
	{"chat", "section", "", "the models of `knack chat`", func(d *decoder, v frontmatter.Value, c *Config) {
		c.Chat = decodeChat(d, v)
	}},
	{"servers", "section", "none", "the MCP servers whose tools `knack chat --mcp NAME` offers to a model, each under a name of `a-z`, `0-9` and `-`, at most 32", func(d *decoder, v frontmatter.Value, c *Config) {
		c.Servers = decodeServers(d, v)
	}},
	{"access", "section", "", "which clients may use `knack serve --http`, and which skills they see", func(d *decoder, v frontmatter.Value, c *Config) {
		c.Access = decodeAccess(d, v)
	}},
	{"sign-in", "section", "", "the OpenID Connect provider of `knack serve --http`, besides tokens", func(d *decoder, v frontmatter.Value, c *Config) {
		c.SignIn = decodeSignIn(d, v)
	}},
	{"http", "section", "", "where `knack serve` listens; flags take precedence", func(d *decoder, v frontmatter.Value, c *Config) {
		c.HTTP = decodeHTTP(d, v)
	}},
	{"log", "section", "", "the log of `knack serve` on standard error; flags take precedence", func(d *decoder, v frontmatter.Value, c *Config) {
		section(d, "log", v, logKeys, &c.Log)
	}},
	{"audit", "section", "", "where `knack serve` writes its audit log; `--audit` takes precedence", func(d *decoder, v frontmatter.Value, c *Config) {
		c.Audit = decodeAudit(d, v)
	}},
	{"usage", "section", "", "where `knack serve` keeps the counts of the page /usage", func(d *decoder, v frontmatter.Value, c *Config) {
		c.Usage = decodeUsage(d, v)
	}},
	{"limits", "section", "", "how often a client may send requests over HTTP", func(d *decoder, v frontmatter.Value, c *Config) {
		section(d, "limits", v, limitKeys, &c.Limits)
	}},
}

func decodeApprovals(d *decoder, v frontmatter.Value) Word {
	const at, fix = "approvals", "write the path of a file, such as approvals.json"
	path := d.text(at, v, fix)
	d.refuseTilde(at, v.Position, path, writeWholePath)
	return Word{path, v.Position}
}

// The values of the key lock.
const (
	LockWarn    = "warn"
	LockEnforce = "enforce"
	LockOff     = "off"
)

// lockModes are the values of the key lock. The first is the default.
var lockModes = []string{LockWarn, LockEnforce, LockOff}

// LockIn returns the value of the key lock in a file, even if the file has other faults. An unknown
// value counts as [LockEnforce], since a typing error must not turn enforcement off. Without the
// key, the result is [LockWarn].
func LockIn(data []byte) string {
	if len(data) > MaxSize {
		return LockWarn
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	v, problems := frontmatter.ParseYAML(text)
	for _, f := range v.Fields {
		switch {
		case f.Key != "lock":
		case slices.Contains(lockModes, f.Value.Text):
			return f.Value.Text
		default:
			return LockEnforce
		}
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "lock:"); ok && len(problems) > 0 && strings.TrimSpace(value) == LockEnforce {
			return LockEnforce
		}
	}
	return LockWarn
}

// Parse decodes a file. If it returns problems, the configuration is empty. Problems are in
// the order of the file, and each has a position and a fix.
func Parse(data []byte) (Config, []skill.Problem) {
	var c Config
	if len(data) > MaxSize {
		return c, []skill.Problem{{Rule: ruleValue, Position: skill.Position{Line: 1, Column: 1},
			Message: "the file is too large; the limit is 1 MiB", Fix: "make it shorter"}}
	}
	v, problems := frontmatter.ParseYAML(strings.TrimPrefix(string(data), "\ufeff"))
	d := &decoder{problems: problems}
	if v.Position.Line > 0 {
		section(d, "", v, root, &c)
		checkOpen(d, v, c)
		checkShared(d, v, c)
		checkSources(d, c)
	}
	if len(d.problems) == 0 {
		return c, nil
	}
	slices.SortStableFunc(d.problems, func(a, b skill.Problem) int {
		return cmp.Or(a.Position.Line-b.Position.Line, a.Position.Column-b.Position.Column)
	})
	for i, p := range d.problems {
		d.problems[i].Fix = cmp.Or(p.Fix, "see 'knack help settings'")
	}
	return Config{}, d.problems
}

// key is a row of a section's table.
type key[T any] struct {
	name, kind, byDefault, title string
	read                         func(d *decoder, v frontmatter.Value, into *T)
}

// decoder decodes a file and collects its problems.
type decoder struct{ problems []skill.Problem }

// maxProblems limits the problems that are reported for one file.
const maxProblems = 100

func (d *decoder) add(rule skill.RuleID, p skill.Position, field, fix, format string, args ...any) {
	if len(d.problems) < maxProblems {
		d.problems = append(d.problems, skill.Problem{Rule: rule, Position: p, Field: field, Message: fmt.Sprintf(format, args...), Fix: fix})
	}
}

// section decodes a mapping by its table. An empty value is a section without keys.
func section[T any](d *decoder, at string, v frontmatter.Value, keys []key[T], into *T) {
	for _, f := range d.fields(at, v) {
		i := slices.IndexFunc(keys, func(k key[T]) bool { return k.name == f.Key })
		if i < 0 {
			names := make([]string, len(keys))
			for i, k := range keys {
				names[i] = k.name
			}
			d.unknown(f, at, "key", names)
			continue
		}
		keys[i].read(d, f.Value, into)
	}
}

// fields returns the fields of a mapping. Any other value except an empty one is a problem.
func (d *decoder) fields(at string, v frontmatter.Value) []frontmatter.Field {
	if v.Kind != frontmatter.Map && v.Kind != frontmatter.Null {
		what := "the file"
		if at != "" {
			what = at
		}
		d.add(ruleValue, v.Position, at, "write each key on its own line, indented, followed by a colon and a space", "%s does not consist of keys with values", what)
	}
	return v.Fields
}

// lacks reports whether a section contains neither a key nor a misspelling of the key, which is
// reported separately. Missing keys are reported together with wrong keys, so that one run shows
// both.
func lacks(v frontmatter.Value, key string) bool {
	isSection := v.Kind == frontmatter.Map || v.Kind == frontmatter.Null
	return isSection && !slices.ContainsFunc(v.Fields, func(f frontmatter.Field) bool { return f.Key == key || typo.Nearest(f.Key, []string{key}) != "" })
}

// unknown reports an unknown name. The fix suggests the most similar known name, or lists them all.
func (d *decoder) unknown(f frontmatter.Field, at, what string, known []string) {
	where := ""
	if at != "" {
		where = " in " + at
	}
	all := "the " + what + "s are " + strings.Join(known, ", ")
	switch {
	case len(known) == 1:
		all = "the only " + what + " is " + known[0]
	case len(known) > 12 && at != "": // rules
		all = "see 'knack help rules' for the " + what + "s"
	}
	d.add(ruleKey, f.KeyPosition, strings.TrimPrefix(at+"."+f.Key, "."), nearestOr(f.Key, known, all), "there is no %s %s%s", what, display.Quote(f.Key), where)
}

// boolean decodes true or false.
func (d *decoder) boolean(at string, v frontmatter.Value) *bool {
	if v.Kind != frontmatter.Bool {
		d.add(ruleValue, v.Position, at, "write true or false", "%s is not true or false", at)
		return nil
	}
	value := strings.EqualFold(v.Text, "true")
	return &value
}

// isTrue decodes true or false. Any other value counts as false.
func (d *decoder) isTrue(at string, v frontmatter.Value) bool {
	value := d.boolean(at, v)
	return value != nil && *value
}

// require reports a key that an item of a list lacks.
func (d *decoder) require(at string, item frontmatter.Value, key, fix string) {
	if lacks(item, key) {
		d.add(ruleValue, item.Position, at+"."+key, fix, "%s has no %s", at, key)
	}
}

// nearestOr returns a fix that suggests the word nearest to the typed text. Without one, it returns
// otherwise.
func nearestOr(typed string, words []string, otherwise string) string {
	if best := typo.Nearest(typed, words); best != "" {
		return "did you mean " + best + "?"
	}
	return otherwise
}
