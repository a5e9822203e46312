package config

import (
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Trust is an item of trust: the keys that sign the releases of some sources.
type Trust struct {
	From    trust.Pattern
	Keys    []Word // files, as written; a relative one starts at the folder of the configuration
	Require bool
	skill.Position
}

// Bounds of trust: each key is read at each command.
const (
	maxTrust = 256
	maxKeys  = 16
)

const aPattern = "write from: and a pattern, such as oci://registry.example.com/acme/**; oci://** is every registry, and ** every source"

func trustKeys(at string) []key[Trust] {
	return []key[Trust]{
		{"from", "text", "", "the sources that the rule is for: `oci://REGISTRY/REPOSITORY`, with `*` for one part of the name and `**` for any number; `oci://**` is every registry, and `**` every source; required", func(d *decoder, v frontmatter.Value, t *Trust) {
			text, ok := d.textOK(at+".from", v, aPattern)
			if !ok {
				return
			}
			var err error
			if t.From, err = trust.ParsePattern(text); err != nil {
				d.add(ruleValue, v.Position, at+".from", aPattern, "%s.from %s", at, err)
			}
		}},
		{"keys", "list", "", "the files of the public keys (PEM); a signature by one of them is enough; required", func(d *decoder, v frontmatter.Value, t *Trust) {
			const fix = "write the files of public keys, such as [acme.pub]"
			d.refuseEmpty(at+".keys", v, fix)
			for _, item := range d.itemsUpTo(at+".keys", v, maxKeys, "keys", "remove keys that no longer sign") {
				file := d.text(at+".keys", item, fix)
				if strings.HasPrefix(file, "~") {
					d.add(ruleValue, item.Position, at+".keys", writeWholePath, "%s.keys has a path that begins with ~, which no shell replaces here", at)
				}
				t.Keys = append(t.Keys, Word{file, item.Position})
			}
		}},
		{"require", "boolean", "false", "only releases that one of the keys signed are taken; without it, unsigned ones are taken too, with a note", func(d *decoder, v frontmatter.Value, t *Trust) {
			t.Require = d.isTrue(at+".require", v)
		}},
	}
}

func decodeTrust(d *decoder, v frontmatter.Value) (all []Trust) {
	for i, item := range d.itemsUpTo("trust", v, maxTrust, "rules", "write patterns that fit more sources") {
		at := "trust[" + strconv.Itoa(i) + "]"
		t := Trust{Position: item.Position}
		section(d, at, item, trustKeys(at), &t)
		d.require(at, item, "from", aPattern)
		d.require(at, item, "keys", "write keys: and the files of public keys, such as [acme.pub]")
		for _, earlier := range all {
			if from := t.From.String(); from != "" && earlier.From.Fits(from) {
				d.add(ruleValue, item.Position, at+".from", "put it before that rule, or remove one of them", "this rule is never used, since the one on line %d fits all of %s and comes first", earlier.Line, from)
				break
			}
		}
		all = append(all, t)
	}
	return all
}

// trustText returns the contents of trust, without its positions.
func trustText(rules []Trust) string {
	var b strings.Builder
	for _, t := range rules {
		b.WriteString(t.From.String() + "\x00" + strconv.FormatBool(t.Require))
		for _, k := range t.Keys {
			b.WriteString("\x00" + k.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
