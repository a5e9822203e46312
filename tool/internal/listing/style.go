package listing

import "strings"

// Style is the form of one skill in a list.
type Style struct {
	// begin escapes a name that begins a line without an item.
	begin func(string) string
	// item returns a skill as a list item. Its arguments are already escaped.
	item   func(name, description, location string) string
	escape func(string) string
}

// The styles.
var (
	// Bullets has a line "- name: description" for each skill.
	Bullets = Style{begin: plain, item: bullet, escape: plain}
	// EscapedBullets is Bullets between XML tags.
	EscapedBullets = Style{begin: plain, item: bullet, escape: EscapeXML}
	// Markdown is Bullets for a text that is read as Markdown. It escapes a name that would turn
	// its item or line into a heading, a quotation or a list.
	Markdown = Style{
		begin: beginMarkdown,
		item: func(name, description, location string) string {
			return bullet(beginMarkdown(name), description, location)
		},
		escape: plain,
	}
	// Elements is the form in contract 002's description.
	Elements = Style{
		begin: plain,
		item: func(name, description, location string) string {
			return "<skill>\n<name>" + name + "</name>\n<description>" + description + "</description>\n<location>" + location + "</location>\n</skill>"
		},
		escape: EscapeXML,
	}
)

func bullet(name, description, _ string) string { return "- " + name + ": " + description }

// beginMarkdown escapes a name at the beginning of a line or an item of Markdown.
func beginMarkdown(name string) string {
	if name != "" && strings.IndexByte("#>-*+~=", name[0]) >= 0 {
		return `\` + name
	}
	return name
}

// plain returns a text unchanged.
func plain(s string) string { return s }

var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// EscapeXML escapes element content.
func EscapeXML(s string) string { return xmlEscaper.Replace(s) }
