package search

import "sync"

// stop lists words that say nothing about the subject of a query. They are indexed like
// others, and searched for if a query has no other words.
var stop = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for w := range words(`
		a about all also am an and any are as at be been but by can could did do does doing done
		for from get give go got had has have having he her him his how i if in into is it its just
		let like make me my need no not of on or our out please she should show so some something
		tell that the their them then there these they thing things this those to too up us
		use used using very want was we were what when where which while who whom why will with would you your`) {
		all[string(w)] = true
	}
	return all
})
