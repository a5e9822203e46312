package web

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// allowed is every element that rendered Markdown may hold, with its attributes
// and what their values must be. No element here is of another language than HTML
// (svg, math), holds text that is not text (script, style, textarea), or sends
// anything anywhere.
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

// void are the elements without an end.
var void = []string{"br", "hr", "img", "input"}

func isOneOf(values ...string) func(string) bool {
	return func(v string) bool { return slices.Contains(values, v) }
}

// isID: a heading's id, which begins with what no element of the page begins with.
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

// isHref: a page of a skill here, a place in this one, or an address elsewhere
// that a browser asks with a request and nothing else.
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

// sanitize writes markup anew from what the table allows: the second wall behind
// a renderer that lets no HTML through. Elements are closed where they are open,
// so that a text cannot end the element that it stands in. Those that lie deeper than
// maxNested are left out: readers of HTML stop at some 512, and what they then make
// of the rest is theirs.
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

// writeTag writes a start tag, or nothing where it is not allowed or would mean
// nothing without the attributes that are not.
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
