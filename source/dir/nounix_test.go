//go:build !unix

package dir

import "testing"

func special(testing.TB, string) {}
