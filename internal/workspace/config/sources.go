package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/base/semver"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Source is an item of sources: a remote place whose skills a server offers and keeps up to date.
type Source struct {
	Name        Word // the label of its root
	From        Word // as written; a relative folder starts at the file's folder
	ForwardOnly bool
	MinVersion  string
	Credentials Credentials
	ClientID    string // for 'knack login' at a provider without dynamic registration
	Position    skill.Position
}

// Store is the section store: the folder in which a server keeps the skills of its sources.
type Store struct {
	Dir  string        // empty means the user's cache
	Keep time.Duration // 0 means [DefaultKeep]
}

// Defaults of the keys store.keep and poll.
const (
	DefaultKeep = 24 * time.Hour
	DefaultPoll = 30 * time.Second
	// DefaultOwnPoll is the default for a server over stdio, since a person may have hundreds of
	// sessions.
	DefaultOwnPoll = time.Minute
)

// The limits of the same keys. store.keep has a minimum: a client may continue to read the earlier
// release for minutes after a new one is served. poll has a minimum, since registries limit
// requests, and a maximum, since after an hour no person still waits for a release.
const (
	minKeep = time.Hour
	maxKeep = 365 * 24 * time.Hour
	minPoll = time.Second
	maxPoll = time.Hour
)

// maxSources limits the number of sources, since all are polled at the same times.
const maxSources = 64

func sourceKeys(at string) []key[Source] {
	return []key[Source]{
		{"name", "text", "", "the label of its root: the first part of the URI of each skill, `a-z`, `0-9` and `-`, at most 32", func(d *decoder, v frontmatter.Value, s *Source) {
			s.Name = Word{v.Text, v.Position}
			if v.Kind != frontmatter.String || !rootLabel().MatchString(v.Text) {
				d.add(ruleValue, v.Position, at+".name", aLabel, "%s.name is not a label", at)
			}
		}},
		{"from", "text", "", "the source, as `knack add` takes it", func(d *decoder, v frontmatter.Value, s *Source) {
			s.From = Word{strings.TrimSpace(v.Text), v.Position}
			if v.Kind != frontmatter.String {
				d.add(ruleValue, v.Position, at+".from", "write a source, for example oci://registry.example.com/acme/skills:prod", "%s.from is not text", at)
				return
			}
			_, err := origin.Parse(s.From.Text, "/", "/")
			if wrong := (*origin.RefError)(nil); errors.As(err, &wrong) {
				d.add(ruleValue, v.Position, at+".from", wrong.Fix, "%s.from cannot be used: %s", at, wrong.Message)
			}
		}},
		{"forward-only", "boolean", "false", "serve no release with a lower version than the highest that was served", func(d *decoder, v frontmatter.Value, s *Source) {
			s.ForwardOnly = d.isTrue(at+".forward-only", v)
		}},
		{"min-version", "text", "", "serve no release with a lower version than this; for a replica that remembers none", func(d *decoder, v frontmatter.Value, s *Source) {
			if _, full := semver.Parse(v.Text); full && v.Kind == frontmatter.String && strings.Trim(v.Text[:1], "v0123456789") == "" {
				s.MinVersion = v.Text
				return
			}
			d.add(ruleValue, v.Position, at+".min-version", "write a version with three numbers, such as 1.4.0", "%s.min-version is no version", at)
		}},
		tokenEnvKey(at, "the variable with the token that is sent to the source's own address", func(s *Source) *Credentials { return &s.Credentials }),
		tokenFileKey(at, func(s *Source) *Credentials { return &s.Credentials }),
		{"client-id", "text", "", "the id that the operator of the server's provider gave knack, for `knack login`", func(d *decoder, v frontmatter.Value, s *Source) {
			s.ClientID = d.text(at+".client-id", v, "write the id as the provider shows it")
		}},
		headersKey(at, "headers of each request to that address; the value `$NAME` is the variable NAME, for a secret", func(s *Source) *Credentials { return &s.Credentials }),
	}
}

// IsLabel reports whether text can be the name of a source or the label of a root.
func IsLabel(text string) bool { return rootLabel().MatchString(text) }

func decodeSources(d *decoder, v frontmatter.Value) (all []Source) {
	d.refuseEmpty("sources", v, "name a source, or leave the key out")
	for i, item := range d.itemsUpTo("sources", v, maxSources, "sources", "publish the skills of several sources as one release") {
		at := "sources[" + strconv.Itoa(i) + "]"
		s := Source{Position: item.Position}
		section(d, at, item, sourceKeys(at), &s)
		d.require(at, item, "name", "write name: and a word for its URIs, for example acme")
		d.require(at, item, "from", "write from: and the source, for example oci://registry.example.com/acme/skills:prod")
		d.checkTokens(at, item, item.Position)
		checkCredentials(d, at, s)
		all = append(all, s)
	}
	return all
}

// checkCredentials reports credentials that a source cannot use.
func checkCredentials(d *decoder, at string, s Source) {
	ref, err := origin.Parse(s.From.Text, "/", "/")
	if err != nil || !s.Credentials.Given() {
		return
	}
	if why := ref.Access(); why != "" {
		d.add(ruleValue, s.Position, at, "leave them out: "+why, "%s has credentials, which are not for sources of this kind", at)
	}
}

// checkSources reports names shared by two sources, or by a source and a root, and duplicate
// sources.
func checkSources(d *decoder, c Config) {
	names, from := map[string]string{}, map[string]int{}
	for _, r := range c.Roots {
		names[r.Label.Text] = fmt.Sprintf("the label of the root on line %d", r.Label.Position.Line)
	}
	for i, s := range c.Sources {
		at := "sources[" + strconv.Itoa(i) + "]"
		if taken := names[s.Name.Text]; taken != "" && s.Name.Text != "" {
			d.add(ruleValue, s.Name.Position, at+".name", "give each source and each root a name of its own", "%s is %s", s.Name.Text, taken)
		} else {
			names[s.Name.Text] = fmt.Sprintf("the name of the source on line %d", s.Name.Position.Line)
		}
		place := s.From.Text
		if ref, err := origin.Parse(place, "/", "/"); err == nil { // two spellings of one source
			place = ref.String()
		}
		if line := from[place]; line > 0 && place != "" {
			d.add(ruleValue, s.From.Position, at+".from", "leave one of them out: the skills would be served twice", "%s.from is the source on line %d too", at, line)
		} else {
			from[place] = s.From.Position.Line
		}
	}
}

var storeKeys = []key[Store]{
	{"dir", "text", "the user's cache", "the folder in which `knack serve` and `knack pull` keep the skills of sources; deleting it is always safe", func(d *decoder, v frontmatter.Value, s *Store) {
		const fix = "write the path of a folder, for example /var/lib/knack"
		var ok bool
		if s.Dir, ok = d.textOK("store.dir", v, fix); ok {
			d.refuseTilde("store.dir", v.Position, s.Dir, "write the whole path; for a folder of this name ./"+s.Dir)
		}
	}},
	{"keep", "duration", "24h", "how long a release stays there after it was served last", func(d *decoder, v frontmatter.Value, s *Store) {
		s.Keep = d.duration("store.keep", v, minKeep, maxKeep, "write hours, such as 24h")
	}},
}

// duration decodes a time between two limits.
func (d *decoder) duration(at string, v frontmatter.Value, least, most time.Duration, fix string) time.Duration {
	t, err := time.ParseDuration(v.Text)
	if v.Kind != frontmatter.String || err != nil || t < least || t > most {
		d.add(ruleValue, v.Position, at, fmt.Sprintf("%s, from %s to %s", fix, short(least), short(most)), "%s is not such a time", describe(v))
		return 0
	}
	return t
}

// short writes whole hours and seconds as people do: 24h, 1s.
func short(t time.Duration) string {
	if t%time.Hour == 0 {
		return fmt.Sprintf("%dh", t/time.Hour)
	}
	return t.String()
}

// sourcesText returns the contents of sources, without their positions.
func sourcesText(sources []Source) string {
	var b strings.Builder
	for _, s := range sources {
		c := s.Credentials
		fmt.Fprintf(&b, "%s\x00%s\x00%v\x00%s\x00%s\x00%s\x00%q\n", s.Name.Text, s.From.Text, s.ForwardOnly, s.MinVersion, c.TokenEnv.Text, c.TokenFile.Text, c.Headers)
	}
	return b.String()
}
