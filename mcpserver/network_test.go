package mcpserver_test

import (
	"fmt"
	"testing"

	"github.com/knack-dev/knack/mcpserver"
)

// TestShareOfNetwork checks that all addresses of one IPv6 /64, which one customer has, count as
// one client for the share of sessions. Addresses of another network count as another client.
func TestShareOfNetwork(t *testing.T) {
	t.Parallel()
	h, err := mcpserver.NewHTTP(serve(t, scanned(t)), mcpserver.HTTPOptions{MaxSessions: 8})
	must(t, err)
	admitted := func(address string) bool { return begin(t, h, "["+address+"]:1") != nil }
	for i := range 6 {
		if !admitted(fmt.Sprintf("2001:db8:0:1::%x", i+1)) {
			t.Fatalf("session %d is refused", i)
		}
	}
	if admitted("2001:db8:0:1:ffff::1") {
		t.Error("a seventh session of one network is accepted")
	}
	if !admitted("2001:db8:0:2::1") {
		t.Error("the first session of another network is refused")
	}
}
