package listing

import (
	"cmp"
	"slices"
	"time"

	"github.com/knack-dev/knack/catalog"
)

// Order returns the indexes of skills by relevance. The project's skills come first, then the
// user's, then the built-in ones. Within these, skills with more uses come first, then skills with
// a newer day. With little room, shorter names come first among equals. Otherwise the sort is
// stable.
func Order(v catalog.View, skills []*catalog.Entry, littleRoom bool) []int {
	keys := make([]orderKey, len(skills))
	for i, e := range skills {
		keys[i] = orderKey{index: i, rank: rank(e), uses: v.Uses(e)}
		if littleRoom {
			keys[i].length = len(e.Name)
		}
		if e.Bundle != nil {
			keys[i].day = e.Stamp.MTime / int64(24*time.Hour)
		}
	}
	slices.SortFunc(keys, orderKey.compare)
	order := make([]int, len(keys))
	for i, k := range keys {
		order[i] = k.index
	}
	return order
}

// orderKey holds the properties of a skill that determine its order.
type orderKey struct {
	index, rank, length int
	uses                uint64
	day                 int64
}

func (k orderKey) compare(o orderKey) int {
	return cmp.Or(cmp.Compare(k.rank, o.rank), cmp.Compare(o.uses, k.uses), cmp.Compare(o.day, k.day), cmp.Compare(k.length, o.length), cmp.Compare(k.index, o.index))
}
