package config

import (
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Root is an item of roots: a folder of skills, with its publisher and a label that does not depend
// on the other roots.
type Root struct {
	Dir   Word // as written; a relative one starts at the file's folder
	Label Word
	skill.Publisher
	Position skill.Position
}

// maxRoots limits the number of roots, since each is scanned and watched.
const maxRoots = 256

// maxPublisher limits the characters of a title and of an owner, since they are in every row of a
// list.
const maxPublisher = 100

// rootLabel matches the labels of roots. URIs, names and metrics contain labels unchanged.
var rootLabel = lazyregexp.New(`^[a-z0-9-]{1,32}$`)

const aLabel = "write 1 to 32 of a to z, 0 to 9 and -, for example acme; put it in quotes if YAML reads it as something else"

func rootKeys(at string) []key[Root] {
	return []key[Root]{
		{"dir", "text", "", "the folder; a relative path starts at this file's folder", func(d *decoder, v frontmatter.Value, r *Root) {
			const fix = "write the path of a folder, for example /srv/skills/acme"
			text, ok := d.textOK(at+".dir", v, fix)
			r.Dir = Word{text, v.Position}
			switch {
			case !ok:
			case strings.HasPrefix(text, "~"):
				d.refuseTilde(at+".dir", v.Position, text, "write the whole path; for a folder of this name ./"+text)
			case strings.ContainsFunc(text, unicode.IsControl):
				d.add(ruleValue, v.Position, at+".dir", fix, "%s.dir has a control character", at)
			}
		}},
		{"label", "text", "", "the first part of the URI of each skill of the root: `a-z`, `0-9` and `-`, at most 32", func(d *decoder, v frontmatter.Value, r *Root) {
			r.Label = Word{v.Text, v.Position}
			if v.Kind != frontmatter.String || !rootLabel().MatchString(v.Text) {
				d.add(ruleValue, v.Position, at+".label", aLabel, "%s.label is not a label", at)
			}
		}},
		{"title", "text", "the label", "the publisher's name on pages", func(d *decoder, v frontmatter.Value, r *Root) {
			r.Title = d.line(at+".title", v)
		}},
		{"owner", "text", "", "whom to ask about the skills, on the page of each", func(d *decoder, v frontmatter.Value, r *Root) {
			r.Owner = d.line(at+".owner", v)
		}},
		{"url", "text", "", "an address of the publisher, http or https, on the page of each skill", func(d *decoder, v frontmatter.Value, r *Root) {
			const fix = "write an address such as https://example.com/skills"
			text, ok := d.textOK(at+".url", v, fix)
			if !ok {
				return
			}
			u, err := url.Parse(text)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsGraphic(c) || c == ' ' }) {
				d.add(ruleValue, v.Position, at+".url", fix, "%s.url is not an address that begins with http:// or https://", at)
				return
			}
			r.URL = u.String()
		}},
	}
}

// line decodes a text of one short line.
func (d *decoder) line(at string, v frontmatter.Value) string {
	text, ok := d.textOK(at, v, "write a text; put it in quotes if YAML reads it as something else")
	if ok && (len([]rune(text)) > maxPublisher || strings.ContainsFunc(text, unicode.IsControl)) {
		d.add(ruleValue, v.Position, at, "write one line of at most "+strconv.Itoa(maxPublisher)+" characters", "%s is too long, or has more than one line", at)
	}
	return text
}

func decodeRoots(d *decoder, v frontmatter.Value) (all []Root) {
	first := map[string]int{}
	d.refuseEmpty("roots", v, "name a folder, or leave the key out")
	for i, item := range d.itemsUpTo("roots", v, maxRoots, "folders", "name a folder above them instead") {
		at := "roots[" + strconv.Itoa(i) + "]"
		r := Root{Position: item.Position}
		section(d, at, item, rootKeys(at), &r)
		d.require(at, item, "dir", "write dir: and the path of a folder")
		d.require(at, item, "label", "write label: and a word for its URIs, for example acme")
		if line, taken := first[r.Label.Text]; taken && r.Label.Text != "" {
			d.add(ruleValue, r.Label.Position, at+".label", "give each root its own label", "%s is the label of the root on line %d", r.Label.Text, line)
		} else {
			first[r.Label.Text] = r.Label.Position.Line
		}
		all = append(all, r)
	}
	return all
}

// Folder returns the absolute path of the root's folder. A relative path starts at beside, the
// folder of the configuration file.
func (r Root) Folder(beside string) string {
	if filepath.IsAbs(r.Dir.Text) {
		return filepath.Clean(r.Dir.Text)
	}
	return filepath.Join(beside, filepath.FromSlash(r.Dir.Text))
}

// rootsText returns the contents of roots, without their positions.
func rootsText(roots []Root) string {
	var b strings.Builder
	for _, r := range roots {
		b.WriteString(strings.Join([]string{r.Dir.Text, r.Label.Text, r.Title, r.Owner, r.URL}, "\x00") + "\n")
	}
	return b.String()
}
