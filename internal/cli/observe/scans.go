package observe

import (
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/policy/admission"
	"github.com/knack-dev/knack/internal/web"
)

// Scans provides the scan results of a controller to the web pages. It implements [web.Scans].
type Scans struct{ admission *admission.Controller }

// NewScans returns the scan results of a controller, or nil if its policy is empty.
func NewScans(ctl *admission.Controller) web.Scans {
	if !ctl.Scans() && !ctl.Holds() {
		return nil
	}
	return Scans{ctl}
}

// Of implements [web.Scans].
func (s Scans) Of(e *catalog.Entry) (k web.Scanned, ok bool) {
	d, ok := s.admission.Of(e)
	if !ok {
		return k, false
	}
	r, accepted := s.admission.Unaccepted(e, d)
	return web.Scanned{Set: d.Set, Report: r, Accepted: accepted, Approval: d.Approval, Approved: d.IsApproved}, true
}
