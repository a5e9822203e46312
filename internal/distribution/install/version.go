package install

import (
	"maps"
	"slices"

	"github.com/knack-dev/knack/internal/base/semver"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
)

// FollowedRange returns the versions within which update moves an entry, such as "1.x" or "0.4.x".
// It is "" for an entry that is pinned or fixed, or that does not follow versions.
func FollowedRange(e lockfile.Skill) string {
	v, full := semver.Parse(e.Want)
	if !full || e.Pinned || fixed(e) {
		return ""
	}
	return v.Range()
}

// Later returns the commands that install the versions for which update needs --latest.
func (in *Installer) Later(p *Plan) (out []string) {
	words := map[string][]string{}
	for _, s := range p.Steps {
		if s.Latest != "" && s.Do != Fail && s.Do != Gone {
			words[s.Latest] = append(words[s.Latest], in.word(s.Key))
		}
	}
	for _, version := range slices.Sorted(maps.Keys(words)) {
		out = append(out, version+" is there: "+in.command(append([]string{"update", "--latest"}, words[version]...)...)+" takes it")
	}
	return out
}

// newest returns the tag of the highest version that is not lower than is, or "". Unless latest is
// set, the tag has the same major version, or for 0.x the same minor version. A release never moves
// to a pre-release.
func newest(current semver.Version, tags []string, latest bool) (best string) {
	high := current
	for _, tag := range tags {
		v, ok := semver.Parse(tag)
		if !ok || v.Prefix != current.Prefix || v.PreRelease() && !current.PreRelease() {
			continue
		}
		if !latest && !current.Compatible(v) {
			continue
		}
		if c := v.Compare(high); c > 0 || c == 0 && best == "" {
			high, best = v, tag
		}
	}
	return best
}
