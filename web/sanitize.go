package web

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// allowed maps each element that rendered Markdown may contain to its attributes and
// the checks of their values. No element belongs to another language (svg, math), has
// raw text content (script, style, textarea) or submits data.
var allowed = map[string]map[string]func(string) bool{
	"p": nil, "br": nil, "hr": nil, "blockquote": nil, "em": {"class": isOneOf("nowhere")}, "strong": nil, "del": nil,
	"h1": {"id": isID}, "h2": {"id": isID}, "h3": {"id": isID}, "h4": {"id": isID}, "h5": {"id": isID}, "h6": {"id": isID},
	"ul": nil, "ol": {"start": isNumber}, "li": nil,
	"code": {"class": isOneOf("raw")}, "pre": {"class": isOneOf("raw"), "tabindex": isOneOf("0")}, "span": {"class": isOneOf("sr")},
	"a":     {"href": isHref, "title": isText, "class": isOneOf("out"), "rel": isOneOf(outsideRel)},
	"img":   {"src": isPicture, "alt": isText, "title": isText},
	"input": {"type": isOneOf("checkbox"), "disabled": isOneOf(""), "checked": isOneOf("")},
	"table": nil, "thead": nil, "tbody": nil, "tr": nil,
	"th": {"align": isOneOf("left", "right", "center")}, "td": {"align": isOneOf("left", "right", "center")},
}

// void lists the elements without an end tag.
var void = []string{"br", "hr", "img", "input"}

func isOneOf(values ...string) func(string) bool {
	return func(v string) bool { return slices.Contains(values, v) }
}

// isID reports whether v is a heading's id. Its prefix differs from the ids of the page
// itself.
func isID(v string) bool {
	name, ok := strings.CutPrefix(v, idPrefix)
	return ok && name != "" && len(name) <= 256 && strings.IndexFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_.-", r)
	}) < 0
}

func isNumber(v string) bool {
	return v != "" && len(v) <= 9 && strings.Trim(v, "0123456789") == ""
}

func isText(string) bool { return true }

func isPicture(v string) bool { return strings.HasPrefix(v, "/raw/") && picture(v) != "" }

// isHref reports whether v is the address of a skill's page, a fragment of this page,
// or an http, https or mailto address.
func isHref(v string) bool {
	u, err := url.Parse(v)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return u.Host != ""
	case "mailto":
		return true
	case "":
		return u.Host == "" && (strings.HasPrefix(v, "/skills/") || strings.HasPrefix(v, "#"+idPrefix))
	}
	return false
}

const maxNested = 256

// sanitize rewrites markup so that it contains only what the table allows. It is the
// second defence after a renderer that passes no HTML.
//
// An end tag closes only elements that are open, so that a text cannot end the element
// around it. Elements nested deeper than maxNested are left out: HTML parsers stop at
// about 512 levels, and their handling of the rest differs.
func sanitize(markup string) string {
	var out strings.Builder
	out.Grow(len(markup) + len(markup)/8)
	var open []string
	z := html.NewTokenizer(strings.NewReader(markup))
	for {
		switch z.Next() {
		case html.ErrorToken:
			for _, name := range slices.Backward(open) {
				out.WriteString("</" + name + ">")
			}
			return out.String()
		case html.TextToken:
			out.WriteString(html.EscapeString(z.Token().Data))
		case html.StartTagToken, html.SelfClosingTagToken:
			if t := z.Token(); len(open) < maxNested && writeTag(&out, t) && !slices.Contains(void, t.Data) {
				open = append(open, t.Data)
			}
		case html.EndTagToken:
			name := z.Token().Data
			if !slices.Contains(open, name) {
				continue
			}
			for last := ""; last != name; {
				last, open = open[len(open)-1], open[:len(open)-1]
				out.WriteString("</" + last + ">")
			}
		}
	}
}

// writeTag writes a start tag and reports whether it did. It writes nothing if the
// element is not allowed or lacks attributes that it requires.
func writeTag(out *strings.Builder, t html.Token) bool {
	attributes, ok := allowed[t.Data]
	if !ok {
		return false
	}
	var b strings.Builder
	seen := map[string]bool{}
	for _, a := range t.Attr {
		valid := attributes[a.Key]
		if a.Namespace != "" || valid == nil || seen[a.Key] || !valid(a.Val) {
			continue
		}
		seen[a.Key] = true
		b.WriteString(" " + a.Key + `="` + html.EscapeString(a.Val) + `"`)
	}
	switch {
	case t.Data == "img" && !seen["src"], t.Data == "input" && (!seen["type"] || !seen["disabled"]):
		return false
	case t.Data == "img":
		b.WriteString(` loading="lazy"`)
	case t.Data == "input":
		b.WriteString(` aria-label="task"`)
	}
	out.WriteString("<" + t.Data + b.String() + ">")
	return true
}
