// Package semver parses and compares the versions of tags and releases. It accepts a few more forms
// than golang.org/x/mod/semver, with which it compares versions.
package semver

import (
	"regexp"
	"strings"

	"golang.org/x/mod/semver"
)

// Version is a full version in a tag such as v1.2.3, 1.2.3-rc.1, pdf/v1.2.3 or pdf@1.2.3.
type Version struct {
	Prefix string // before the numbers: "v", "pdf@"
	text   string // "v1.2.3-rc.1"
}

// zeros matches numbers with leading zeros, which dates such as 2026.01.31 have.
var zeros = regexp.MustCompile(`\b0+([0-9]+)\b`)

// Parse parses a tag. ok is false if the tag is not a full version. Parse reads _ as +, since tags
// of registries cannot have a +.
func Parse(tag string) (v Version, ok bool) {
	rest := strings.TrimPrefix(tag[strings.LastIndexAny(tag, "/@")+1:], "v")
	v = Version{strings.TrimSuffix(tag, rest), "v" + zeros.ReplaceAllString(strings.ReplaceAll(rest, "_", "+"), "$1")}
	if semver.Canonical(v.text)+semver.Build(v.text) != v.text {
		return Version{}, false
	}
	return v, true
}

// ParseShort parses a version that may have only two numbers: 1.4 means 1.4.0.
func ParseShort(text string) (Version, bool) {
	if v, ok := Parse(text); ok {
		return v, true
	}
	end := strings.IndexAny(text, "-+_")
	if end < 0 {
		end = len(text)
	}
	return Parse(text[:end] + ".0" + text[end:])
}

// Lower reports whether version is lower than than. It returns false if either is not a version.
func Lower(version, than string) bool {
	a, ok := ParseShort(version)
	b, known := ParseShort(than)
	return ok && known && a.Compare(b) < 0
}

// Names reports whether a tag can name a version: v1.4.0 names 1.4.0, and 1.4 names any 1.4.x. A
// tag that is not a version can name any version.
func Names(tag, version string) bool {
	t, ok := ParseShort(tag)
	if !ok {
		return true
	}
	v, ok := ParseShort(version)
	_, full := Parse(tag)
	return ok && (t.Compare(v) == 0 || !full && !t.PreRelease() && semver.MajorMinor(t.text) == semver.MajorMinor(v.text))
}

// Compare orders versions by the rules of semver.org.
func (v Version) Compare(o Version) int { return semver.Compare(v.text, o.text) }

// PreRelease reports whether v is a pre-release, such as 1.2.3-rc.1.
func (v Version) PreRelease() bool { return semver.Prerelease(v.text) != "" }

// Compatible reports whether the major versions are equal and, for 0.x, also the minor versions.
func (v Version) Compatible(o Version) bool {
	if semver.Major(v.text) == "v0" {
		return semver.MajorMinor(v.text) == semver.MajorMinor(o.text)
	}
	return semver.Major(v.text) == semver.Major(o.text)
}

// Range returns the range of the versions that are compatible with v: "1.x", or "0.4.x".
func (v Version) Range() string {
	if semver.Major(v.text) == "v0" {
		return semver.MajorMinor(v.text)[1:] + ".x"
	}
	return semver.Major(v.text)[1:] + ".x"
}

// String returns the version without its prefix.
func (v Version) String() string { return v.text[1:] }
