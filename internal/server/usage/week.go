package usage

import "time"

// week is the number of an ISO week, from Monday in UTC. The week of 1970-01-01 is 0.
type week int

const secondsOfWeek = 7 * 24 * 60 * 60

// toMonday is the time from the Monday of week 0 to 1970-01-01, a Thursday.
const toMonday = 3 * 24 * 60 * 60

func weekOf(t time.Time) week {
	s := t.Unix() + toMonday
	if s < 0 {
		return 0
	}
	return week(s / secondsOfWeek)
}

// start returns the Monday that a week begins on.
func (w week) start() time.Time { return time.Unix(int64(w)*secondsOfWeek-toMonday, 0).UTC() }
