package openid

import "time"

// SetNow sets the clock.
func (p *Provider) SetNow(now func() time.Time) { p.now = now }
