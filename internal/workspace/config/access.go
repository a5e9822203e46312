package config

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Access is the section access: the tokens and the rules of a server.
type Access struct {
	Tokens []access.Credential
	// Policy is nil if the file has no rules: then every client sees every skill.
	Policy *access.Policy
	// Open is the default of the policy, and Rules are its rules. Open is false, and Rules is nil,
	// if the file lacks the key.
	Open  bool
	Rules []access.Rule
	// Positions maps the text of a pattern to its first position in the file.
	Positions map[string]skill.Position
}

// Omits returns a key that a later section lacks, so that the later section would reveal skills
// which this section hides. It returns "" if the later section can be accepted. An emptied or
// truncated file must not reveal anything. To drop the rules on purpose, write default: allow and
// rules: [].
func (a Access) Omits(now Access) string {
	switch {
	case a.Policy == nil, a.Open && len(a.Rules) == 0: // hides nothing
		return ""
	case now.Policy == nil:
		return "access.default"
	case now.Open && now.Rules == nil && len(a.Rules) > 0:
		return "access.rules"
	}
	return ""
}

// SameRules reports whether another section has the same default and the same rules in the
// same order.
func (a Access) SameRules(other Access) bool {
	return (a.Policy == nil) == (other.Policy == nil) && a.Open == other.Open && reflect.DeepEqual(a.Rules, other.Rules)
}

// Patterns lists the patterns of the rules in their order.
func (a Access) Patterns() (all []access.Pattern) {
	for _, r := range a.Rules {
		all = append(append(all, r.Allow...), r.Deny...)
	}
	return all
}

// accessSection is the decoded section before it is checked as a whole.
type accessSection struct {
	allow     *bool
	tokens    []access.Credential
	rules     []access.Rule
	positions map[string]skill.Position
}

var accessKeys = []key[accessSection]{
	{"default", "allow, deny", "", "whether a skill that no rule matches is visible; required if there are rules", func(d *decoder, v frontmatter.Value, a *accessSection) {
		const at = "access.default"
		if v.Kind != frontmatter.String || v.Text != "allow" && v.Text != "deny" {
			d.add(ruleValue, v.Position, at, "write allow or deny", "%s is not allow or deny", at)
			return
		}
		allow := v.Text == "allow"
		a.allow = &allow
	}},
	{"tokens", "list", "", "the tokens that clients may use over HTTP, in addition to those of `--token-file`", func(d *decoder, v frontmatter.Value, a *accessSection) {
		first := map[skill.Digest]int{}
		for i, item := range d.items("access.tokens", v) {
			at := "access.tokens[" + strconv.Itoa(i) + "]"
			var h access.Credential
			section(d, at, item, tokenKeys(at), &h)
			switch line, twice := first[h.Hash]; {
			case lacks(item, "hash"), lacks(item, "subject"):
				d.add(ruleValue, item.Position, at, "write hash: sha256:… as 'knack token new' prints it, and subject: with a name", "%s lacks its hash or its subject", at)
			case twice && h.Hash != skill.Digest{}:
				d.add(ruleValue, item.Position, at, "make a separate token for each subject", "%s has the hash of the token on line %d", at, line)
			}
			first[h.Hash] = item.Position.Line
			a.tokens = append(a.tokens, h)
		}
	}},
	{"rules", "list", "", "which clients see which skills; a deny overrides every allow", func(d *decoder, v frontmatter.Value, a *accessSection) {
		a.rules = []access.Rule{}
		for i, item := range d.items("access.rules", v) {
			at := "access.rules[" + strconv.Itoa(i) + "]"
			var r access.Rule
			before := len(d.problems)
			section(d, at, item, ruleKeysOf(at, a.positions), &r)
			if len(d.problems) == before && len(r.Allow)+len(r.Deny) == 0 || lacks(item, "allow") && lacks(item, "deny") {
				d.add(ruleValue, item.Position, at, "write allow: or deny: with a list of patterns, such as [\"skill://acme/**\"]", "%s neither allows nor denies anything", at)
			}
			a.rules = append(a.rules, r)
		}
	}},
}

func tokenKeys(at string) []key[access.Credential] {
	return []key[access.Credential]{
		{"hash", "text", "", "the token's SHA-256, as `knack token new` prints it", func(d *decoder, v frontmatter.Value, h *access.Credential) {
			hash, err := skill.ParseDigest(v.Text)
			if v.Kind != frontmatter.String || err != nil { // the value may be a token, so the message does not repeat it
				d.add(ruleValue, v.Position, at+".hash", "write sha256: and 64 lower-case hexadecimal digits, as 'knack token new' prints them; never the token itself", "%s.hash is not the hash of a token", at)
				return
			}
			h.Hash = hash
		}},
		{"subject", "text", "", "the token's owner: a name for rules and logs", func(d *decoder, v frontmatter.Value, h *access.Credential) {
			h.Name = d.name(at+".subject", v)
		}},
		{"groups", "list", "none", "the groups that the subject is in", func(d *decoder, v frontmatter.Value, h *access.Credential) {
			h.Groups = d.names(at+".groups", v)
		}},
		{"expires", "date", "never", "the day from which the token is refused, in UTC", func(d *decoder, v frontmatter.Value, h *access.Credential) {
			var err error
			if h.Expires, err = time.Parse(time.DateOnly, v.Text); v.Kind == frontmatter.List || v.Kind == frontmatter.Map || err != nil {
				d.add(ruleValue, v.Position, at+".expires", "write year, month and day, such as 2027-01-31", "%s.expires is not a day", at)
			}
		}},
	}
}

// soon is the time before the expiry of a token at which warnings begin.
const soon = 30 * 24 * time.Hour

// Ending returns warnings about tokens that have expired by now, or will within [soon].
func (a Access) Ending(now time.Time) (warnings []string) {
	for i, t := range a.Tokens {
		at := "access.tokens[" + strconv.Itoa(i) + "]: the token of " + t.Name
		day := t.Expires.Format(time.DateOnly)
		switch {
		case t.Expired(now):
			warnings = append(warnings, at+" has been refused since "+day+": delete it; 'knack token new' makes another")
		case t.Expired(now.Add(soon)):
			warnings = append(warnings, at+" is refused from "+day+" on: 'knack token new' makes another")
		}
	}
	return warnings
}

// ruleKeysOf returns the keys of a rule. It records the positions of its patterns in positions.
func ruleKeysOf(at string, positions map[string]skill.Position) []key[access.Rule] {
	patterns := func(d *decoder, at string, v frontmatter.Value) (all []access.Pattern) {
		for i, item := range d.items(at, v) {
			before := len(d.problems)
			p := d.pattern(at+"["+strconv.Itoa(i)+"]", item)
			if len(d.problems) > before {
				continue
			}
			if _, ok := positions[p.String()]; !ok && positions != nil {
				positions[p.String()] = item.Position
			}
			all = append(all, p)
		}
		return all
	}
	return []key[access.Rule]{
		{"subjects", "list", "", "the rule applies to these; without subjects and groups it applies to all clients", func(d *decoder, v frontmatter.Value, r *access.Rule) {
			r.Subjects = d.nonEmptyNames(at+".subjects", v)
		}},
		{"groups", "list", "", "the rule applies to every subject in one of these groups", func(d *decoder, v frontmatter.Value, r *access.Rule) {
			r.Groups = d.nonEmptyNames(at+".groups", v)
		}},
		{"allow", "list", "", "patterns of the skills that are visible", func(d *decoder, v frontmatter.Value, r *access.Rule) {
			r.Allow = patterns(d, at+".allow", v)
		}},
		{"deny", "list", "", "patterns of the skills that are hidden", func(d *decoder, v frontmatter.Value, r *access.Rule) {
			r.Deny = patterns(d, at+".deny", v)
		}},
	}
}

// decodeAccess decodes the section.
func decodeAccess(d *decoder, v frontmatter.Value) Access {
	a := accessSection{positions: map[string]skill.Position{}}
	section(d, "access", v, accessKeys, &a)
	if lacks(v, "default") && len(a.rules) > 0 {
		d.add(ruleValue, v.Position, "access.default", "write default: deny, or default: allow", "access has rules and no default for the skills that no rule matches")
	}
	out := Access{Tokens: a.tokens, Rules: a.rules}
	if len(a.positions) > 0 {
		out.Positions = a.positions
	}
	if a.allow != nil {
		out.Open, out.Policy = *a.allow, access.NewPolicy(*a.allow, a.rules)
	}
	return out
}

// itemsUpTo returns the items of a list, and reports a list with more than most items. what is the
// plural noun for the items.
func (d *decoder) itemsUpTo(at string, v frontmatter.Value, most int, what, fix string) []frontmatter.Value {
	all := d.items(at, v)
	if len(all) <= most {
		return all
	}
	d.add(ruleValue, all[most].Position, at, fix, "%s has more than %d %s", at, most, what)
	return all[:most]
}

// refuseEmpty reports a list without items.
func (d *decoder) refuseEmpty(at string, v frontmatter.Value, fix string) {
	if v.Kind == frontmatter.List && len(v.Items) == 0 {
		d.add(ruleValue, v.Position, at, fix, "%s is empty", at)
	}
}

// items returns the items of a list.
func (d *decoder) items(at string, v frontmatter.Value) []frontmatter.Value {
	if v.Kind != frontmatter.List {
		d.add(ruleValue, v.Position, at, "write a list: each item on its own line after a hyphen and a space, or all in [ ]", "%s is not a list", at)
	}
	return v.Items
}

// name decodes a text that is not blank.
func (d *decoder) name(at string, v frontmatter.Value) string {
	name := strings.TrimSpace(v.Text)
	if v.Kind != frontmatter.String || name == "" {
		d.add(ruleValue, v.Position, at, "write a name; put it in quotes if YAML reads it as something else", "%s is not a name", at)
	}
	return name
}

func (d *decoder) names(at string, v frontmatter.Value) (all []string) {
	for _, item := range d.items(at, v) {
		all = append(all, d.name(at, item))
	}
	return all
}

// nonEmptyNames decodes the names to which a rule applies. An empty list is an error, since it
// would apply to every name.
func (d *decoder) nonEmptyNames(at string, v frontmatter.Value) []string {
	d.refuseEmpty(at, v, "give a name, or leave the key out: then the rule applies to all clients")
	return d.names(at, v)
}
