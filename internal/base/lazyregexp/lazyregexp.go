// Package lazyregexp compiles regular expressions at their first use, since most processes use
// only a few of them.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles expr at its first call and returns the same
// expression at every call. That call panics if expr is invalid.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
