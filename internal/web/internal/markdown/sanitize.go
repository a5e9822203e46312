package markdown

import (
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// allowed maps each element that rendered Markdown may contain to its attributes and the checks of
// their values. No element belongs to another language (svg, math), has raw text content (script,
// style, textarea) or submits data.
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

func isPicture(v string) bool { return strings.HasPrefix(v, "/raw/") && Picture(v) != "" }

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

// sanitize rewrites markup so that it contains only elements and attributes of the table allowed.
// It is the second defence after a renderer that passes no HTML.
//
// It recognizes only tags in the form that the renderer writes. Anything else that begins with "<"
// becomes text, comments included. So the result has only tags that were parsed completely.
//
// An end tag closes only elements that are open, so that a text cannot end the element around it.
// Elements nested deeper than maxNested are omitted: HTML parsers stop at about 512 levels, and
// their handling of the rest differs.
func sanitize(markup string) string {
	var out strings.Builder
	out.Grow(len(markup) + len(markup)/8)
	var open []string
	for markup != "" {
		t, size := readTag(markup)
		switch {
		case size == 0:
			if size = strings.IndexByte(markup[1:], '<') + 1; size == 0 {
				size = len(markup)
			}
			out.WriteString(html.EscapeString(html.UnescapeString(markup[:size])))
		case !t.end:
			if len(open) < maxNested && writeTag(&out, t) && !slices.Contains(void, t.name) {
				open = append(open, t.name)
			}
		case slices.Contains(open, t.name):
			for last := ""; last != t.name; {
				last, open = open[len(open)-1], open[:len(open)-1]
				out.WriteString("</" + last + ">")
			}
		}
		markup = markup[size:]
	}
	for _, name := range slices.Backward(open) {
		out.WriteString("</" + name + ">")
	}
	return out.String()
}

// tag is a start or end tag.
type tag struct {
	name       string
	end        bool
	attributes []attribute
}

type attribute struct{ name, value string }

// readTag returns the tag at the beginning of markup and its size in bytes. The size is 0 if markup
// begins with no tag, or an attribute has no value in double quotes.
func readTag(markup string) (t tag, size int) {
	rest, ok := strings.CutPrefix(markup, "<")
	if !ok {
		return tag{}, 0
	}
	rest, t.end = strings.CutPrefix(rest, "/")
	for t.name, rest = cutName(rest); t.name != ""; {
		if after, ok := strings.CutPrefix(strings.TrimPrefix(rest, " /"), ">"); ok {
			return t, len(markup) - len(after)
		}
		var a attribute
		if rest, ok = strings.CutPrefix(rest, " "); !ok {
			break
		}
		a.name, rest = cutName(rest)
		if rest, ok = strings.CutPrefix(rest, `="`); !ok {
			break
		}
		if a.value, rest, ok = strings.Cut(rest, `"`); !ok {
			break
		}
		a.value = html.UnescapeString(a.value)
		t.attributes = append(t.attributes, a)
	}
	return tag{}, 0
}

// cutName cuts the name of an element or attribute from the beginning of s.
func cutName(s string) (name, rest string) {
	n := len(s) - len(strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyz0123456789"))
	return s[:n], s[n:]
}

// writeTag writes a start tag and reports whether it did. It writes nothing if the
// element is not allowed or lacks attributes that it requires.
func writeTag(out *strings.Builder, t tag) bool {
	checks, ok := allowed[t.name]
	if !ok {
		return false
	}
	var b strings.Builder
	seen := map[string]bool{}
	for _, a := range t.attributes {
		valid := checks[a.name]
		if valid == nil || seen[a.name] || !valid(a.value) {
			continue
		}
		seen[a.name] = true
		b.WriteString(" " + a.name + `="` + html.EscapeString(a.value) + `"`)
	}
	switch {
	case t.name == "img" && !seen["src"], t.name == "input" && (!seen["type"] || !seen["disabled"]):
		return false
	case t.name == "img":
		b.WriteString(` loading="lazy"`)
	case t.name == "input":
		b.WriteString(` aria-label="task"`)
	}
	out.WriteString("<" + t.name + b.String() + ">")
	return true
}
