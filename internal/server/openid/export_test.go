package openid

import "time"

// SetNow sets the clock.
func (p *Provider) SetNow(now func() time.Time) { p.now = now }

// Fill takes all places of waiting browsers until free is called.
func (p *Provider) Fill() (free func()) {
	for range cap(p.places) {
		p.enter()
	}
	return func() {
		for range cap(p.places) {
			p.leave()
		}
	}
}
