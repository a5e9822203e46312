package scan

import (
	"hash/maphash"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/skill"
)

// Named is a skill of a catalogue.
type Named struct {
	Name   string
	Origin string // the root or repository of the skill, as displayed
}

// The limits on the length of a name that is compared. A shorter word is one letter away from many
// other words, and the specification allows no longer names.
const (
	leastNear = 5
	mostNear  = 64
)

// maxCompared limits the names that are compared for each part of a name.
const maxCompared = 100

// maxNearShown limits the names that a finding lists.
const maxNearShown = 3

// Near returns findings of the rule name-near, by the index of the skill. A skill has such a
// finding if its name is one edit away from the name of a skill of a different origin. An edit
// changes one character, or swaps two neighbours. Capitals make no difference, nor do spaces or
// underscores in place of hyphens. options returns the options for a skill by its index; nil means
// the zero Options for all.
func Near(skills []Named, options func(i int) Options) map[int]Finding {
	out := map[int]Finding{}
	n := neighboursOf(skills)
	for i, k := range skills {
		all := n.neighbours(k)
		if len(all) == 0 {
			continue
		}
		message := "the name " + secrets.Quote(k.Name) + " is nearly "
		for at, other := range all[:min(len(all), maxNearShown)] {
			if at > 0 {
				message += ", "
			}
			message += secrets.Quote(other.Name) + " of " + secrets.Quote(other.Origin)
		}
		if more := len(all) - maxNearShown; more > 0 {
			message += " and " + strconv.Itoa(more) + " more"
		}
		var o Options
		if options != nil {
			o = options(i)
		}
		s := newScanner(o)
		s.findFile(passage.NameNear, skill.MainFile, message)
		if len(s.findings) > 0 {
			out[i] = s.findings[0]
		}
	}
	return out
}

// Add adds a finding that concerns more than the files of the skill; see [Near].
func (r *Report) Add(f Finding) {
	s := scanner{findings: r.Findings, enforce: r.Enforce, review: r.Review}
	s.keep(f)
	r.Findings, r.Enforce, r.Review = s.sortedFindings(), s.enforce, s.review
}

// neighbours finds names that are near one another. Two near names have a part in common: they
// become equal if at most one character of each is removed.
type neighbours struct {
	skills map[string][]Named // by folded name; sorted by origin
	parts  []part             // sorted by hash
	seed   maphash.Seed
}

// part is a whole name, or a name with one of its characters removed.
type part struct {
	hash uint64
	name string
}

func neighboursOf(skills []Named) *neighbours {
	n := &neighbours{skills: map[string][]Named{}, seed: maphash.MakeSeed()}
	for _, k := range skills {
		name := nearKey(k.Name)
		if name == "" {
			continue
		}
		if n.skills[name] == nil {
			for _, hash := range n.hashes(name) {
				n.parts = append(n.parts, part{hash, name})
			}
		}
		n.skills[name] = append(n.skills[name], k)
	}
	for _, all := range n.skills {
		sort.Slice(all, func(i, j int) bool { return all[i].Origin < all[j].Origin })
	}
	sort.Slice(n.parts, func(i, j int) bool {
		a, b := n.parts[i], n.parts[j]
		return a.hash < b.hash || a.hash == b.hash && a.name < b.name
	})
	return n
}

// hashes returns the hashes of the parts of a name.
func (n *neighbours) hashes(name string) []uint64 {
	all := []uint64{maphash.String(n.seed, name)}
	for i := 0; i < len(name); {
		_, size := utf8.DecodeRuneInString(name[i:])
		var h maphash.Hash
		h.SetSeed(n.seed)
		h.WriteString(name[:i])
		i += size
		h.WriteString(name[i:])
		all = append(all, h.Sum64())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// nearKey returns the form of a name that is compared, or "" if the name is too short or too long.
func nearKey(name string) string {
	if len(name) > 4*mostNear {
		return ""
	}
	name = nearFolds.Replace(typo.Fold(name))
	if length := utf8.RuneCountInString(name); length < leastNear || length > mostNear {
		return ""
	}
	return name
}

var nearFolds = strings.NewReplacer(" ", "-", "_", "-")

// neighbours returns one skill of a different origin for each name that is near the name of k. A
// near name does not count if one origin has skills with both names.
func (n *neighbours) neighbours(k Named) (all []Named) {
	name := nearKey(k.Name)
	own := n.skills[name]
	if own == nil {
		return nil
	}
	var near []string
	for _, hash := range n.hashes(name) {
		first := sort.Search(len(n.parts), func(i int) bool { return n.parts[i].hash >= hash })
		for _, p := range n.parts[first:min(first+maxCompared, len(n.parts))] {
			if p.hash != hash {
				break
			}
			if typo.Distance(name, p.name, 1) == 1 {
				near = append(near, p.name)
			}
		}
	}
	slices.Sort(near)
	for _, name := range slices.Compact(near) {
		if hasOrigin(n.skills[name], k.Origin) {
			continue
		}
		for _, o := range n.skills[name] {
			if !hasOrigin(own, o.Origin) {
				all = append(all, o)
				break
			}
		}
	}
	return all
}

// hasOrigin reports whether one of the skills has the given origin. The skills are sorted by origin.
func hasOrigin(skills []Named, origin string) bool {
	i := sort.Search(len(skills), func(i int) bool { return skills[i].Origin >= origin })
	return i < len(skills) && skills[i].Origin == origin
}
