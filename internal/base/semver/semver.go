// Package semver reads and compares the versions that tags and releases have.
package semver

import (
	"cmp"
	"strconv"
	"strings"
)

// Version is a full version in the name of a tag, as v1.2.3, 1.2.3-rc.1, pdf/v1.2.3 or
// pdf@1.2.3 have it.
type Version struct {
	Prefix              string // up to the numbers: "v", "pdf@"
	Major, Minor, Patch uint64
	Pre                 string // "rc.1"
}

// Parse reads a tag. ok is false for anything but a full version.
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

// ParseShort reads a version that may have two numbers, such as 1.4, which is 1.4.0.
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

// Lower reports whether a version is lower than another one. It is not if one of them is no version.
func Lower(version, than string) bool {
	a, ok := ParseShort(version)
	b, known := ParseShort(than)
	return ok && known && a.Compare(b) < 0
}

// Names reports whether a tag may stand for a version: v1.4.0 and 1.4 do for 1.4.0, as does any tag that
// is no version.
func Names(tag, version string) bool {
	tag = strings.ReplaceAll(tag, "_", "+") // a registry's tag has no +
	t, ok := ParseShort(tag)
	if !ok {
		return true
	}
	v, ok := ParseShort(version)
	_, full := Parse(tag)
	return ok && (t.Compare(v) == 0 || !full && t.Pre == "" && t.Major == v.Major && t.Minor == v.Minor)
}

// Compare orders versions as semver.org does.
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
