package web

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/base/display"
)

// order is one order of a list. The order with an empty key is the order of the search or the
// snapshot.
type order struct{ key, label string }

const (
	sortName    = "name"
	sortChanged = "changed"
	sortUsed    = "used"
	sortTokens  = "tokens"
)

var orders = []order{{"", "as listed"}, {sortName, "name"}, {sortChanged, "last changed"}, {sortUsed, "most used"}, {sortTokens, "most tokens"}}

// choices returns the orders of the list with this filter.
func (f filter) choices() (out []choice) {
	for _, o := range orders {
		g := f
		g.Sort, g.Page = o.key, 1
		if o.key == "" && f.Query != "" {
			o.label = "best match"
		}
		out = append(out, choice{Label: o.label, Href: g.href(), On: f.Sort == o.key})
	}
	return out
}

// shelf has the data about the skills of a snapshot that filters and orders need. It is built once
// per snapshot.
type shelf struct {
	traits     map[*catalog.Entry]traits
	values     [byOther][]string                  // by facet; traits refer to a value by its index
	sorted     map[string]func() []*catalog.Entry // the skills in each order of sortKeys
	publishers map[string]string                  // the name of each root's publisher by the root's label; nil if no root has a publisher

	mu    sync.Mutex
	whole filterResult // the list without a query or a filter
	since *doctor.Totals
}

// traits are the properties of a skill that filters compare. values has the index of the skill's
// value in each facet, or -1 for no value. The entries for the state and the tags are always -1,
// since the state comes from the check, and tags has the indices of all tags.
type traits struct {
	values [byOther]int
	tags   []int
}

// Limits of a skill's tags.
const (
	maxTags = 20
	maxTag  = 64 // bytes of one
)

func (s *Site) shelfOf(v catalog.View) *shelf {
	return s.shelves.Get(v, func() *shelf { return newShelf(v) })
}

func newShelf(v catalog.View) *shelf {
	entries := v.Entries
	sh := &shelf{traits: make(map[*catalog.Entry]traits, len(entries))}
	var known [byOther]map[string]int
	for i := range known {
		known[i] = map[string]int{}
	}
	number := func(facet int, value string) int {
		if value == "" {
			return -1
		}
		n, ok := known[facet][value]
		if !ok {
			n = len(known[facet])
			known[facet][value] = n
			sh.values[facet] = append(sh.values[facet], value)
		}
		return n
	}
	for _, state := range states {
		number(byState, string(state))
	}
	for _, scope := range scopes {
		number(byScope, string(scope))
	}
	for _, root := range v.Roots {
		number(byRoot, root.Label)
	}
	sh.publishers = publishersOf(v.Roots)
	for _, e := range entries {
		t := traits{values: [byOther]int{byState: -1, byScope: number(byScope, string(e.Root.Scope)), byRoot: number(byRoot, e.Root.Label), byCollection: number(byCollection, collectionOf(e)), byTag: -1}}
		for _, tag := range tagsOf(e) {
			t.tags = append(t.tags, number(byTag, tag))
		}
		sh.traits[e] = t
	}
	sh.sorted = map[string]func() []*catalog.Entry{}
	for order, key := range sortKeys {
		sh.sorted[order] = sync.OnceValue(func() []*catalog.Entry {
			all := slices.Clone(entries)
			slices.SortStableFunc(all, func(a, b *catalog.Entry) int { return key(a).compare(key(b)) })
			return all
		})
	}
	return sh
}

// sortKey is the key by which a list is sorted in ascending order: first the number, then the text.
type sortKey struct {
	number int64
	text   string
}

func (k sortKey) compare(other sortKey) int {
	return cmp.Or(cmp.Compare(k.number, other.number), strings.Compare(k.text, other.text))
}

// sortKeys maps each order to the sort key of a skill. It lacks the order by use, which changes with
// every call of a tool.
var sortKeys = map[string]func(*catalog.Entry) sortKey{
	sortName:    func(e *catalog.Entry) sortKey { return sortKey{text: cmp.Or(string(e.Key), e.Path)} },
	sortChanged: func(e *catalog.Entry) sortKey { return sortKey{number: -e.Stamp.MTime} },
	sortTokens:  func(e *catalog.Entry) sortKey { return sortKey{number: -int64(e.Size)} },
}

// sortKeyOf returns the sort key of an order of [Site.ordered], or nil if the order has none.
func (s *Site) sortKeyOf(order string) func(*catalog.Entry) sortKey {
	if order == sortUsed {
		return func(e *catalog.Entry) sortKey { return sortKey{number: -int64(s.o.Usage.Uses(e))} }
	}
	return sortKeys[order]
}

// publishersOf returns the name of each root's publisher by the root's label, or nil if no
// root has a publisher. If several have the same name, the label is added.
func publishersOf(roots []catalog.RootStatus) map[string]string {
	names, named, count := map[string]string{}, false, map[string]int{}
	for _, root := range roots {
		count[root.Title()]++
		named = named || root.Publisher != nil
	}
	if !named {
		return nil
	}
	for _, root := range roots {
		if names[root.Label] = root.Title(); count[root.Title()] > 1 {
			names[root.Label] += " (" + root.Label + ")"
		}
	}
	return names
}

// unfiltered returns the list without a query or a filter. It is the first page that a reader sees,
// so it is cached until the totals of the check change.
func (sh *shelf) unfiltered(ctx context.Context, v catalog.View, t *doctor.Totals) (filterResult, error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.since != t {
		all, err := search(ctx, v, "")
		if err != nil {
			return filterResult{}, err
		}
		sh.whole, sh.since = filter{}.tally(all, t, sh), t
	}
	return sh.whole, nil
}

// tagsOf returns the author's keywords of a skill in lower case.
func tagsOf(e *catalog.Entry) (tags []string) {
	for _, tag := range e.Tags() {
		if tag = strings.ToLower(inLine(display.CutBytes(tag, maxTag))); tag != "" && len(tags) < maxTags && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// collectionOf returns the folder below the root that has the skill and usually others of
// the same publisher. It is empty for a skill directly below its root.
func collectionOf(e *catalog.Entry) string {
	folder, _, nested := strings.Cut(e.Path, "/")
	if !nested {
		return ""
	}
	return inLine(strings.ToValidUTF8(display.CutBytes(folder, display.EchoLimit), "\ufffd"))
}

// changedOf returns when a skill's SKILL.md last changed, or the zero time if that is
// unknown.
func changedOf(e *catalog.Entry) time.Time {
	if e.Stamp.MTime == 0 {
		return time.Time{}
	}
	return time.Unix(0, e.Stamp.MTime).UTC()
}

// ordered returns skills of a view in an order.
func (s *Site) ordered(v catalog.View, all []*catalog.Entry, order string) []*catalog.Entry {
	if order == sortUsed {
		return s.o.Usage.MostFirst(all)
	}
	sort := s.shelfOf(v).sorted[order]
	if sort == nil {
		return all
	}
	sorted := sort()
	if len(all) == len(sorted) {
		return sorted
	}
	in := make(map[*catalog.Entry]bool, len(all))
	for _, e := range all {
		in[e] = true
	}
	out := make([]*catalog.Entry, 0, len(all))
	for _, e := range sorted {
		if in[e] {
			out = append(out, e)
		}
	}
	return out
}
