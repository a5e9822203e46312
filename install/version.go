package install

import (
	"cmp"
	"strconv"
	"strings"
)

// version is a full version in the name of a tag, as v1.2.3, 1.2.3-rc.1, pdf/v1.2.3 or
// pdf@1.2.3 have it.
type version struct {
	prefix              string // up to the numbers: "v", "pdf@"
	major, minor, patch uint64
	pre                 string // "rc.1"
}

// parseVersion reads a tag. ok is false for anything but a full version.
func parseVersion(tag string) (v version, ok bool) {
	rest := tag[strings.LastIndexAny(tag, "/@")+1:]
	rest = strings.TrimPrefix(rest, "v")
	v.prefix = strings.TrimSuffix(tag, rest)
	rest, _, _ = strings.Cut(rest, "+")
	core, pre, _ := strings.Cut(rest, "-")
	v.pre = pre
	parts := strings.Split(core, ".")
	if len(parts) != 3 {
		return version{}, false
	}
	for i, to := range []*uint64{&v.major, &v.minor, &v.patch} {
		n, err := strconv.ParseUint(parts[i], 10, 32)
		if err != nil {
			return version{}, false
		}
		*to = n
	}
	return v, true
}

// compare orders versions as semver.org does.
func (v version) compare(o version) int {
	if c := cmp.Or(cmp.Compare(v.major, o.major), cmp.Compare(v.minor, o.minor), cmp.Compare(v.patch, o.patch)); c != 0 {
		return c
	}
	switch {
	case v.pre == o.pre:
		return 0
	case v.pre == "":
		return 1
	case o.pre == "":
		return -1
	}
	a, b := strings.Split(v.pre, "."), strings.Split(o.pre, ".")
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

// newest returns the tag of the highest version that is not below is, or "". It is one of the
// same major version, or for 0.x of the same minor version, unless latest is set. A release is
// not followed by a pre-release.
func newest(is version, tags []string, latest bool) (best string) {
	high := is
	for _, tag := range tags {
		v, ok := parseVersion(tag)
		if !ok || v.prefix != is.prefix || v.pre != "" && is.pre == "" {
			continue
		}
		if !latest && (v.major != is.major || is.major == 0 && v.minor != is.minor) {
			continue
		}
		if c := v.compare(high); c > 0 || c == 0 && best == "" {
			high, best = v, tag
		}
	}
	return best
}
