package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/config"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
)

// admission says which clients may ask over HTTP, and what they see. It can be read again
// while it is in force.
type admission struct {
	env       *Env
	tokenFile string
	tokens    *access.Tokens // nil: every client may ask
	held      []byte         // the token file in force
}

// read reads the token file and adds the tokens of the configuration. It also returns the
// file's bytes.
func (a *admission) read(given config.Config) (tokens *access.Tokens, data []byte, err error) {
	if a.tokenFile != "" {
		data, err = readOwn(absolute(*a.env, a.tokenFile))
		if err == nil && len(data) > config.MaxSize {
			err = skill.ErrTooLarge
		}
		if err != nil {
			return nil, nil, runError("let it be a file of at most 1 MiB that the user who runs knack can read", "--token-file %s: %s", a.tokenFile, reasonOf(err))
		}
		if tokens, err = access.ParseTokens(bytes.NewReader(data)); err != nil {
			return nil, nil, runError("", "--token-file %s: %w", a.tokenFile, err)
		}
	}
	if more := given.Access.Tokens; len(more) > 0 {
		tokens = tokens.With(more)
	}
	return tokens, data, nil
}

// take puts in force what read returned.
func (a *admission) take(tokens *access.Tokens, data []byte) {
	a.tokens, a.held = tokens, data
}

// stateOf returns the access state of tokens and rules.
func stateOf(tokens *access.Tokens, policy *access.Policy) access.State {
	if tokens == nil {
		return access.State{Policy: policy}
	}
	return access.State{Verifier: tokens, Policy: policy}
}

// reloader puts the present configuration in force.
type reloader struct {
	op        *operation
	admission *admission
	catalog   *catalog.Catalog
	server    *mcpserver.Server
	http      *mcpserver.HTTP
	log       *slog.Logger
	access    config.Access // in force
	cert      *certificate  // nil without TLS
	data      []byte        // the configuration file in force
}

// run reads everything again on each SIGHUP. A faulty configuration is refused whole, and
// the one before stays in force. The audit log is reopened by its name in any case: a
// program that rotates it waits for that alone.
func (r *reloader) run(ctx context.Context, hangups <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		if r.op.audit != nil {
			if err := r.op.audit.Reopen(); err != nil {
				r.log.Error("the audit log cannot be opened anew; it goes on in the file that is open", "reason", whyUnwritten(err))
			}
		}
		r.renew()
		if err := r.reload(ctx); err != nil {
			r.log.Error("the configuration was not taken over; the one before holds", "reason", err.Error())
		}
	}
}

// renew serves the certificate that is in the files now. It is independent of the rest: a
// token is revoked whatever the certificate is like, and the other way round.
func (r *reloader) renew() {
	if r.cert == nil {
		return
	}
	switch renewed, err := r.cert.read(); {
	case err != nil:
		r.log.Error("the TLS certificate was not taken over; the one before is served on", "reason", err.Error())
	case renewed:
		r.log.Warn("the TLS certificate was read again, and another one is served", "until", r.cert.until())
	}
}

func (r *reloader) reload(ctx context.Context) error {
	var now config.Config
	var data []byte
	what := "your " + config.Name + " is gone, and"
	own, err := newSettings(r.admission.env, r.op.config).own()
	if err != nil {
		return err
	}
	if own != nil {
		now, what, data = own.config, own.shown, own.data
	}
	if err := misspelt(ctx, r.catalog, what, now.Access); err != nil {
		return err
	}
	if key := r.access.Omits(now.Access); key != "" {
		return fmt.Errorf("%s says nothing of %s, which it did before, and skills would be seen that are not now; where that is meant, write default: allow and rules: [] into the section access", what, key)
	}
	tokens, tokenData, err := r.admission.read(now)
	if err != nil {
		return err
	}
	if loses := !now.Access.SameRules(r.access) || !tokens.Within(r.admission.tokens); loses {
		switch {
		case own != nil && cutShort(r.data, data):
			return lessThan(what)
		case cutShort(r.admission.held, tokenData):
			return lessThan("--token-file " + r.admission.tokenFile)
		}
	}
	if (tokens == nil) != (r.admission.tokens == nil) {
		return errors.New("whether tokens are required cannot change while the server runs; start it anew")
	}
	r.admission.take(tokens, tokenData)
	r.access, r.data = now.Access, data
	policy := now.Access.Policy
	r.server.SetAccess(stateOf(tokens, policy))
	r.http.Limit(now.Limits.Over(mcpserver.DefaultLimit))
	if !r.op.levelFixed {
		r.op.level.Set(levelOf(cmp.Or(now.Log.Level, "warn")))
	}
	r.log.Warn("the configuration was read again")
	if keys := now.Stale(r.op.given()); len(keys) > 0 {
		r.log.Warn("these keys have changed, and hold from the next start on", "keys", strings.Join(keys, ", "))
	}
	warnOfStrangers(policy, tokens, r.log)
	warnOfIdle(ctx, r.catalog, policy, r.log)
	return nil
}

// cutShort reports whether a file is only the beginning of the one in force. If rules,
// names or groups have changed as well, a cut cannot be told from an intended change. The
// missing part may then have hidden something, while tokens that are missing as a whole
// only shut clients out. White space at the end does not count.
func cutShort(held, now []byte) bool {
	const blank = " \t\r\n"
	held, now = bytes.TrimRight(held, blank), bytes.TrimRight(now, blank)
	return len(now) < len(held) && bytes.HasPrefix(held, now)
}

func lessThan(file string) error {
	return fmt.Errorf("%s is the beginning of the file that holds, lacks a rule or whose a token is, and looks cut short; write the whole file anew, or, where less is meant, change something else in it too, such as a comment in place of what is gone, or start the server anew", file)
}

// warnOfStrangers names the subjects and groups of the rules that no token has.
func warnOfStrangers(policy *access.Policy, tokens *access.Tokens, log *slog.Logger) {
	if policy == nil {
		return
	}
	for _, s := range policy.Strangers(tokens) {
		what := "subject"
		if s.Group {
			what = "group"
		}
		about := []any{what, s.Name}
		if s.Near != "" {
			about = append(about, "near", s.Near)
		}
		log.Warn("a rule of the access rules holds for a "+what+" that no token has: it may be misspelt", about...)
	}
}

// misspelt refuses rules if one matches no skill, and would match with another root's label
// in front. Such a rule was written for other roots, and a deny would hide nothing.
// misspelt waits for the first list of skills.
func misspelt(ctx context.Context, c *catalog.Catalog, file string, given config.Access) error {
	if given.Policy == nil {
		return nil
	}
	v, err := c.View(ctx)
	if err != nil {
		return err
	}
	return misspeltIn(v, file, given)
}

func misspeltIn(v catalog.View, file string, given config.Access) error {
	all := given.Policy.Misspelt(v.Entries)
	if len(all) == 0 {
		return nil
	}
	at := given.Places[all[0].Pattern.String()]
	why := "with several roots each URI begins with the label of its root, with one root none does ('knack list --json' has the URIs)"
	if n := len(all) - 1; n > 0 {
		why += fmt.Sprintf("; so it is with %s more", display.Count(n, "pattern"))
	}
	return usageError("write "+all[0].As+": "+why, "%s:%s: no skill of these roots matches the pattern %s, and as %s it would match", file, at, all[0].Pattern, all[0].As)
}

// watchLate ends a server, by calling end, if a root that was still being read at the start
// shows that rules are misspelt.
func watchLate(c *catalog.Catalog, file string, given config.Access, end func(error)) {
	if given.Policy == nil {
		return
	}
	var done atomic.Bool
	look := func() {
		if done.Load() {
			return
		}
		v, ok := c.Now(nil)
		if !ok {
			return
		}
		late := slices.ContainsFunc(v.Roots, catalog.RootStatus.Late)
		err := misspeltIn(v, file, given)
		if (err != nil || !late) && done.CompareAndSwap(false, true) && err != nil {
			end(err)
		}
	}
	c.Subscribe(func(catalog.Diff) { look() })
	look()
}

// idleGrace is how long [warnOfIdle] waits for skills that are still being read.
const idleGrace = time.Hour

// warnOfIdle names the patterns that no skill matches.
func warnOfIdle(ctx context.Context, c *catalog.Catalog, policy *access.Policy, log *slog.Logger) {
	if policy == nil {
		return
	}
	v, err := c.Whole(ctx, idleGrace)
	if err != nil || v.Incomplete() != nil {
		return // a skill that is not read yet may match
	}
	for _, p := range policy.Idle(v.Entries) {
		log.Warn("no skill matches a pattern of the access rules: it may be misspelt", "pattern", p.String())
	}
}
