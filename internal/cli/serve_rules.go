package cli

import (
	"log/slog"
	"sync"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/config"
)

// rules puts access rules in force, and judges them again whenever skills are added: a root may
// be read late, or have no skill at first. Rules that turn out to be misspelt then are no reason
// to end the server, since anyone who can add a skill could end it. What they mean to hide
// is hidden instead.
type rules struct {
	catalog *catalog.Catalog
	enforce func(access.State)
	log     *slog.Logger

	mu     sync.Mutex
	file   string // of the rules, for messages
	given  config.Access
	tokens *access.Tokens
	// unmatched has the patterns that have matched no skill since they took effect. A pattern
	// that has matched one is not misspelt, even if that skill is gone.
	unmatched map[string]bool
	denied    []access.Misspelt // also in the other spelling
}

// watch judges the rules now and at every change of the catalogue.
func (r *rules) watch() (cancel func()) {
	cancel = r.catalog.Subscribe(func(d catalog.Diff) {
		if len(d.Added)+len(d.Changed) > 0 {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.judge()
		}
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judge()
	return cancel
}

// set puts other rules and tokens in force.
func (r *rules) set(file string, given config.Access, tokens *access.Tokens) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file, r.given, r.tokens, r.unmatched, r.denied = file, given, tokens, nil, nil
	r.enforce(stateOf(tokens, given.Policy))
	r.judge()
}

// judge needs mu.
func (r *rules) judge() {
	v, ready := r.catalog.Now(nil)
	if !ready || r.given.Policy == nil || r.unmatched != nil && len(r.unmatched) == 0 {
		return
	}
	still := map[string]bool{}
	for _, p := range r.given.Policy.Unmatched(v.Entries) {
		if text := p.String(); r.unmatched == nil || r.unmatched[text] {
			still[text] = true
		}
	}
	r.unmatched = still
	known := map[[2]string]bool{}
	for _, m := range r.denied {
		known[[2]string{m.Pattern.String(), m.As}] = true
	}
	var found []access.Misspelt
	for _, m := range r.given.Policy.Misspelt(v.Entries) {
		if text := m.Pattern.String(); still[text] && !known[[2]string{text, m.As}] {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return
	}
	r.denied = append(r.denied, found...)
	r.enforce(stateOf(r.tokens, r.given.Policy.Denying(r.denied)))
	r.log.Error("an access rule is misspelt; what it would deny is hidden until the rules are corrected and reloaded", "reason", misspeltError(found, r.file, r.given).Error())
}
