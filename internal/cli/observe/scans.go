package observe

import (
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/policy/admission"
	"github.com/knack-dev/knack/internal/web"
)

// Scans gives the web pages the results of a judge. It implements [web.Scans].
type Scans struct{ judge *admission.Judge }

// NewScans returns the results of a judge, or nil if its policy is empty.
func NewScans(j *admission.Judge) web.Scans {
	if !j.Scans() && !j.Holds() {
		return nil
	}
	return Scans{j}
}

// Of implements [web.Scans].
func (s Scans) Of(e *catalog.Entry) (k web.Scanned, ok bool) {
	d, ok := s.judge.Of(e)
	if !ok {
		return k, false
	}
	r, accepted := s.judge.Unaccepted(e, d)
	return web.Scanned{Set: d.Set, Report: r, Accepted: accepted, Approval: d.Approved, Approved: d.Approved != "" && d.Fault == nil}, true
}
