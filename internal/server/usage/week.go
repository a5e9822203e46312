package usage

import (
	"fmt"
	"time"
)

// week is the number of an ISO week, which begins on Monday in UTC. The week of 1970-01-01 has the
// number 0. The text form is the date of its Monday.
type week int

const secondsOfWeek = 7 * 24 * 60 * 60

// toMonday is the number of seconds from the Monday of week 0 to 1970-01-01, a Thursday.
const toMonday = 3 * 24 * 60 * 60

func weekOf(t time.Time) week {
	s := t.Unix() + toMonday
	if s < 0 {
		return 0
	}
	return week(s / secondsOfWeek)
}

// start returns the Monday with which a week begins.
func (w week) start() time.Time { return time.Unix(int64(w)*secondsOfWeek-toMonday, 0).UTC() }

// MarshalText implements [encoding.TextMarshaler].
func (w week) MarshalText() ([]byte, error) { return w.start().AppendFormat(nil, time.DateOnly), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. It accepts any day of the week.
func (w *week) UnmarshalText(text []byte) error {
	at, err := time.Parse(time.DateOnly, string(text))
	if err != nil {
		return fmt.Errorf("%.20q is not a date", text)
	}
	*w = weekOf(at)
	return nil
}
