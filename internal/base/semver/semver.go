// Package semver parses and compares the versions of tags and releases.
package semver

import (
	"cmp"
	"strconv"
	"strings"
)

// Version is a full version in a tag such as v1.2.3, 1.2.3-rc.1, pdf/v1.2.3 or pdf@1.2.3.
type Version struct {
	Prefix              string // before the numbers: "v", "pdf@"
	Major, Minor, Patch uint64
	Pre                 string // "rc.1"
}

// Parse parses a tag. ok is false for anything but a full version.
func Parse(tag string) (v Version, ok bool) {
	rest := tag[strings.LastIndexAny(tag, "/@")+1:]
	rest = strings.TrimPrefix(rest, "v")
	v.Prefix = strings.TrimSuffix(tag, rest)
	rest, _, _ = strings.Cut(rest, "+")
	core, pre, _ := strings.Cut(rest, "-")
	v.Pre = pre
	parts := strings.Split(core, ".")
	if len(parts) != 3 {
		return Version{}, false
	}
	for i, to := range []*uint64{&v.Major, &v.Minor, &v.Patch} {
		n, err := strconv.ParseUint(parts[i], 10, 32)
		if err != nil {
			return Version{}, false
		}
		*to = n
	}
	return v, true
}

// ParseShort parses a version that may have two numbers: 1.4 means 1.4.0.
func ParseShort(text string) (Version, bool) {
	if v, ok := Parse(text); ok {
		return v, true
	}
	end := strings.IndexAny(text, "-+")
	if end < 0 {
		end = len(text)
	}
	if strings.Count(text[:end], ".") != 1 {
		return Version{}, false
	}
	return Parse(text[:end] + ".0" + text[end:])
}

// Lower reports whether version is lower than than. It is false if either is not a version.
func Lower(version, than string) bool {
	a, ok := ParseShort(version)
	b, known := ParseShort(than)
	return ok && known && a.Compare(b) < 0
}

// Names reports whether a tag can name a version: v1.4.0 and 1.4 name 1.4.0, and so does any tag
// that is not a version.
func Names(tag, version string) bool {
	tag = strings.ReplaceAll(tag, "_", "+") // registry tags cannot have +
	t, ok := ParseShort(tag)
	if !ok {
		return true
	}
	v, ok := ParseShort(version)
	_, full := Parse(tag)
	return ok && (t.Compare(v) == 0 || !full && t.Pre == "" && t.Major == v.Major && t.Minor == v.Minor)
}

// Compare orders versions by the rules of semver.org.
func (v Version) Compare(o Version) int {
	if c := cmp.Or(cmp.Compare(v.Major, o.Major), cmp.Compare(v.Minor, o.Minor), cmp.Compare(v.Patch, o.Patch)); c != 0 {
		return c
	}
	switch {
	case v.Pre == o.Pre:
		return 0
	case v.Pre == "":
		return 1
	case o.Pre == "":
		return -1
	}
	a, b := strings.Split(v.Pre, "."), strings.Split(o.Pre, ".")
	for i := range min(len(a), len(b)) {
		x, errX := strconv.ParseUint(a[i], 10, 64)
		y, errY := strconv.ParseUint(b[i], 10, 64)
		c := strings.Compare(a[i], b[i])
		switch {
		case errX == nil && errY == nil:
			c = cmp.Compare(x, y)
		case errX == nil:
			c = -1
		case errY == nil:
			c = 1
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}
