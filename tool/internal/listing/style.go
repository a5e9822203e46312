package listing

import "strings"

// Style is the form of one skill in a list.
type Style struct {
	// item writes a skill whose texts are escaped.
	item   func(name, description, location string) string
	escape func(string) string
}

// The styles.
var (
	// Bullets has a line "- name: description" for each skill.
	Bullets = Style{item: bullet, escape: plain}
	// EscapedBullets is Bullets between XML tags.
	EscapedBullets = Style{item: bullet, escape: EscapeXML}
	// Markdown is Bullets for a text that is read as Markdown. There, a name cannot make a
	// heading, a quotation or a list of its item.
	Markdown = Style{
		item: func(name, description, location string) string {
			if name != "" && strings.IndexByte("#>-*+~=", name[0]) >= 0 {
				name = `\` + name
			}
			return bullet(name, description, location)
		},
		escape: plain,
	}
	// Elements is the form in contract 002's description.
	Elements = Style{
		item: func(name, description, location string) string {
			return "<skill>\n<name>" + name + "</name>\n<description>" + description + "</description>\n<location>" + location + "</location>\n</skill>"
		},
		escape: EscapeXML,
	}
)

func bullet(name, description, _ string) string { return "- " + name + ": " + description }

// plain leaves a text as it is.
func plain(s string) string { return s }

var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// EscapeXML escapes element content.
func EscapeXML(s string) string { return xmlEscaper.Replace(s) }
