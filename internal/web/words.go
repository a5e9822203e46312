package web

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
)

// tokensOf estimates the tokens of a text: one for four characters, as vendors state
// for English.
func tokensOf(characters int64) int64 { return (characters + 3) / 4 }

// bytesOf formats a size for people, with decimal units.
func bytesOf(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10) + " B"
	case n < 99_950:
		return trimZero(float64(n)/1e3) + " kB"
	case n < 999_500:
		return strconv.FormatInt((n+500)/1000, 10) + " kB"
	}
	return trimZero(float64(n)/1e6) + " MB"
}

func trimZero(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}

// countOf formats a number with commas between thousands.
func countOf(number any) string {
	s := fmt.Sprint(number)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// timesOf formats a time with its date, in UTC.
func timesOf(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// dateOf formats the date of a time, in UTC.
func dateOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// plural formats a number with its noun, in the plural if needed.
func plural(n int, what string) string {
	return strings.Replace(strings.Replace(display.Count(n, what), "matchs", "matches", 1), strconv.Itoa(n), countOf(n), 1)
}

// lastedOf formats a duration for people, rounded down.
func lastedOf(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "less than 1 ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return trimZero(d.Truncate(100*time.Millisecond).Seconds()) + " s"
	}
	return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
}

// hoursOf returns a duration of minutes or hours in words.
func hoursOf(d time.Duration) string {
	if d%time.Hour != 0 {
		return display.Count(int(d/time.Minute), "minute")
	}
	return display.Count(int(d/time.Hour), "hour")
}
