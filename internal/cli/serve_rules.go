package cli

import (
	"log/slog"
	"sync"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// rules checks the access rules again whenever skills change. It only logs the rules that turn out
// to be misspelt. Anyone who can add a skill could cause such a finding, so it must not stop the
// server or block the revocation of a token. The policy itself hides the skills that such rules are
// meant to hide.
type rules struct {
	catalog *catalog.Catalog
	log     *slog.Logger

	mu    sync.Mutex
	file  string // the file that has the rules, for messages
	given config.Access
	said  map[[2]string]bool // misspelt patterns that were logged already, each with its correction
	fresh bool               // the patterns that match no skill were not logged yet
}

// watch checks the rules now and after every change of the catalogue.
func (r *rules) watch() (cancel func()) {
	cancel = r.catalog.Subscribe(func(d catalog.Diff) {
		if d.Completed || len(d.Added)+len(d.Removed)+len(d.Changed) > 0 {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.warn()
		}
	})
	r.set(r.file, r.given)
	return cancel
}

// set replaces the rules. If they are the same as before, their misspelt patterns are not
// logged again.
func (r *rules) set(file string, given config.Access) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said == nil || !given.SameRules(r.given) {
		r.said = map[[2]string]bool{}
	}
	r.file, r.given, r.fresh = file, given, true
	r.warn()
}

// warn logs the patterns and names that match nothing. The caller holds mu.
func (r *rules) warn() {
	v, ready := r.catalog.Now(nil)
	if !ready || r.given.Policy == nil {
		return
	}
	if r.fresh && v.Incomplete() == nil { // a skill that is not read yet may still match
		r.fresh = false
		for _, p := range r.given.Policy.Unmatched(v.Snapshot) {
			r.log.Warn("no skill matches a pattern of the access rules: it may be misspelt", "pattern", p.String())
		}
	}
	var found []access.Misspelt
	for _, m := range r.given.Policy.Misspelt(v.Snapshot) {
		if key := [2]string{m.Pattern.String(), m.As}; !r.said[key] {
			r.said[key] = true
			found = append(found, m)
		}
	}
	if len(found) > 0 {
		r.log.Error("an access rule is misspelt; what it would deny is hidden until the rules are corrected and reloaded", "reason", settings.Misspelt(found, r.file, r.given).Error())
	}
}
