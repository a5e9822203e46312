package lookup

import (
	"fmt"
	"strings"
	"testing"
)

func TestServedIsBounded(t *testing.T) {
	var s served
	big := strings.Repeat("x", 1<<20)
	for i := range 2 * keptCount {
		s.remember(fmt.Sprint(i), servedText{text: big[:i]})
		s.remember(fmt.Sprint("big", i%20), servedText{text: big})
	}
	sum := 0
	for _, k := range s.byURI {
		sum += len(k.text)
	}
	if sum != s.bytes || sum > keptBytes || len(s.order) != len(s.byURI) || len(s.order) > keptCount {
		t.Errorf("%d bytes, counted %d, in %d of %d", sum, s.bytes, len(s.order), len(s.byURI))
	}
	if _, ok := s.recall(fmt.Sprint("big", (2*keptCount-1)%20)); !ok {
		t.Error("the latest is forgotten")
	}
}

func TestServedCounts(t *testing.T) {
	var s served
	for i := range 3 * keptCount {
		s.remember(fmt.Sprint(i%(2*keptCount)), servedText{text: "x"})
	}
	for range 5 {
		s.remember("0", servedText{text: "x"})
	}
	if len(s.order) != keptCount || len(s.byURI) != keptCount || s.bytes != keptCount {
		t.Errorf("%d in order, %d kept, %d bytes", len(s.order), len(s.byURI), s.bytes)
	}
}
