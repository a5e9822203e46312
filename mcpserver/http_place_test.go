package mcpserver

import "testing"

// A place is free when neither the request nor the handler needs it, also where the
// handler begins after the request is over; and once only.
func TestPlace(t *testing.T) {
	for name, steps := range map[string]string{
		"a refusal":                       "r",
		"a call":                          "e l r",
		"a handler that goes on":          "e r l",
		"a handler that begins too late":  "a r e l",
		"one that never begins":           "a r g",
		"one that begins after its grace": "a r g e",
	} {
		freed := 0
		all := places{grace: placeGrace}
		p := all.take("", func() { freed++ })
		for i, step := range steps {
			last := i == len(steps)-1
			switch step {
			case 'r', 'l':
				p.leave()
			case 'a':
				p.await()
			case 'g':
				if p.grace.Stop() {
					p.leave()
				}
			case 'e':
				if held := all.enter(p.key); held == nil != last {
					t.Errorf("%s: entered %v", name, held)
				}
			}
			if name != "one that begins after its grace" && (freed == 1) != last {
				t.Errorf("%s: freed %d times after %q", name, freed, steps[:i+1])
			}
		}
		if freed != 1 || len(all.of) > 0 {
			t.Errorf("%s: freed %d times, %d left", name, freed, len(all.of))
		}
	}
}
