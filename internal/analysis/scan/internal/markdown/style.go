package markdown

import (
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// isHiding reports whether an attribute makes its element invisible.
func isHiding(key, value string) bool {
	switch key {
	case "hidden":
		return true
	case "color":
		return isPale(strings.ToLower(strings.TrimSpace(value)))
	case "style":
		value = cssEscape().ReplaceAllStringFunc(cssComment().ReplaceAllString(value, ""), func(m string) string {
			n, _ := strconv.ParseUint(strings.TrimSpace(m[1:]), 16, 32)
			return string(rune(n))
		})
		background := strings.Contains(strings.ToLower(value), "background")
		for rule := range strings.SplitSeq(strings.ToLower(value), ";") {
			name, value, _ := strings.Cut(rule, ":")
			value = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "!important"))
			if hidesAs(strings.TrimSpace(name), value, background) {
				return true
			}
		}
	}
	return false
}

var (
	cssComment = lazyregexp.New(`(?s)/\*.*?\*/`)
	cssEscape  = lazyregexp.New(`\\[0-9A-Fa-f]{1,6}\s?`)
	farAway    = lazyregexp.New(`^-\d{3,}`)
	// nothing matches values that shrink an element to zero size or make it transparent: scale(0),
	// opacity(0), inset(100%), rect(0 0 0 0).
	nothing = lazyregexp.New(`\b(?:scale[xy]?|opacity)\(\s*0?\.?0*\s*\)|\binset\(\s*(?:50|100)%|\brect\((?:\s*[01](?:px)?[\s,]*){4}\)`)
	paleHue = lazyregexp.New(`^hsla?\([^,]*,[^,]*,100%`)
)

// hidesAs reports whether a property of a style makes its element invisible.
func hidesAs(name, value string, background bool) bool {
	switch name {
	case "display":
		return value == "none"
	case "visibility":
		return value == "hidden" || value == "collapse"
	case "opacity", "font-size", "max-height", "max-width", "height", "width":
		return isZero(value)
	case "left", "right", "top", "bottom", "text-indent", "margin-left", "margin-top":
		return farAway().MatchString(value)
	case "clip", "clip-path", "transform", "filter":
		return nothing().MatchString(value)
	case "color":
		return value == "transparent" || isPale(value) && !background
	}
	return false
}

// isZero reports whether a size or an opacity in CSS is too small to see: 0, 0px, .01, or 1px.
func isZero(value string) bool {
	number := strings.TrimRight(value, "abcdefghijklmnopqrstuvwxyz% ")
	return number != "" && (strings.Trim(number, "0.") == "" || strings.HasPrefix(strings.TrimPrefix(number, "0"), ".0") || value == "1px")
}

// isPale reports whether a colour in CSS is white or fully transparent.
func isPale(value string) bool {
	value = strings.ReplaceAll(strings.ReplaceAll(strings.Join(strings.Fields(value), " "), ", ", ","), " ", ",")
	switch value {
	case "white", "#fff", "#ffff", "#ffffff", "#ffffffff", "#fefefe", "rgb(255,255,255)", "transparent":
		return true
	}
	return (strings.HasPrefix(value, "rgba(") || strings.HasPrefix(value, "hsla(")) && strings.HasSuffix(value, ",0)") || paleHue().MatchString(value) ||
		strings.HasPrefix(value, "rgba(255,255,255,") || len(value) == len("#00000000") && value[0] == '#' && strings.HasSuffix(value, "00")
}
