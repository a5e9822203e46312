package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/cli/observe"
	"github.com/knack-dev/knack/internal/workspace/certificate"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/replica"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/mcpserver"
)

// reloader reloads the configuration of a running server and applies it.
type reloader struct {
	op        *serveConfig
	admission *admission
	catalog   *catalog.Catalog
	rules     *rules
	enforce   func(access.State)
	http      *mcpserver.HTTP
	log       *slog.Logger
	access    config.Access            // the access settings in effect
	data      []byte                   // the content of the configuration file in effect
	cert      *certificate.Certificate // nil without TLS
	results   *observe.Reloads
	roots     *settings.File // the file at the start if its roots are served, or nil
	follows   *replica.Replica
	config    string // the value of --config
}

// retryTokens is how long to wait before reading a token file again after a failure.
const retryTokens = 10 * time.Second

// run reloads everything on each SIGHUP, and only the tokens when their file has changed. An
// invalid configuration is refused as a whole, and the previous one stays in effect. The audit log
// is reopened in any case, since log rotation needs only that.
func (r *reloader) run(ctx context.Context, hangups <-chan os.Signal, changed <-chan struct{}) {
	var again <-chan time.Time
	failed := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-again: // the failure may have had a passing cause, such as too many open files
		case <-hangups:
			if err := r.hangup(ctx); err == nil {
				again, failed = nil, ""
			}
			continue
		}
		again = nil
		if err := r.reloadTokens(failed != ""); err == nil {
			failed = ""
		} else {
			again = time.After(retryTokens)
			r.results.Done(observe.Settings, err, false)
			if err.Error() != failed {
				failed = err.Error()
				r.log.Error("the token file was not read again; the previous tokens stay in effect", "reason", failed)
			}
		}
	}
}

// hangup reloads everything, and reopens the audit log.
func (r *reloader) hangup(ctx context.Context) error {
	if r.op.audit != nil {
		err := r.op.audit.Reopen()
		if err != nil {
			err = errors.New(whyUnwritten(err))
			r.log.Error("the audit log cannot be reopened; it continues in the open file", "reason", err.Error())
		}
		r.results.Done(observe.AuditLog, err, true)
	}
	r.follows.Ask()
	r.cert.Renew() // a bad certificate must not block the revocation of a token
	err := r.reload(ctx)
	if err != nil {
		r.results.Done(observe.Settings, err, false)
		r.log.Error("the settings and tokens were not read again; the previous ones stay in effect", "reason", err.Error())
	}
	return err
}

// renewed records and logs the result of reloading the certificate.
func (r *reloader) renewed(renewed bool, err error) {
	r.results.Done(observe.Certificate, err, !renewed)
	switch {
	case err != nil:
		r.log.Error("the TLS certificate was not reloaded; the previous one stays in use", "reason", err.Error())
	case renewed:
		r.log.Warn("the TLS certificate was reloaded", "until", r.cert.Ends().UTC().Format(time.RFC3339))
	}
}

func (r *reloader) reload(ctx context.Context) error {
	var now config.Config
	var data []byte
	what := "your " + config.Name + ", which is gone,"
	file, err := settings.New(r.admission.env, r.config).Trusted()
	if err != nil {
		return err
	}
	if file != nil {
		now, what, data = file.Config, file.Shown, file.Data
	}
	sameRules := now.Access.SameRules(r.access)
	if err := settings.Moves(r.roots, file, sameRules); err != nil {
		return err
	}
	var added []string
	if r.roots != nil {
		added = settings.LabelsOf(now)
	}
	// Unchanged rules are not checked: a new skill must not block the revocation of a token.
	if !sameRules {
		if err := settings.Check(ctx, r.catalog, what, now.Access, added...); err != nil {
			return err
		}
	}
	if key := r.access.Omits(now.Access); key != "" {
		return fmt.Errorf("%s no longer has %s, and skills that are hidden now would become visible; if you intend that, write default: allow and rules: [] in the section access", what, key)
	}
	tokens, tokenData, err := r.admission.read(now.Access)
	if err != nil {
		return err
	}
	if loses := !sameRules || !tokens.SubsetOf(r.admission.tokens); loses && file != nil && cutShort(r.data, data) {
		return cutShortError(what)
	}
	if err := r.admission.refuses(tokens, tokenData, sameRules); err != nil {
		return err
	}
	r.admission.set(tokens, tokenData)
	r.access, r.data = now.Access, data
	policy := now.Access.Policy
	r.enforce(r.admission.state(tokens, policy))
	r.rules.set(what, now.Access)
	r.http.Limit(now.Limits.Apply(mcpserver.DefaultLimit))
	if !r.op.levelFixed {
		r.op.level.Set(levelOf(cmp.Or(now.Log.Level, "warn")))
	}
	r.results.Done(observe.Settings, nil, false) // before the log line
	// This is a warning since the default level hides lower ones, and the operator waits for this
	// line.
	r.log.Warn("the settings and tokens were read again, and are in effect")
	if keys := now.NeedRestart(r.op.configuration()); len(keys) > 0 {
		r.log.Warn("these keys have changed, and take effect after a restart", "keys", strings.Join(keys, ", "))
	}
	r.admission.warnUnknownSubjects(policy, r.log)
	return nil
}

// reloadTokens reloads the token file alone; the configuration in effect stays. After a failure, it
// also logs that an unchanged file can be read again.
func (r *reloader) reloadTokens(failed bool) error {
	tokens, data, err := r.admission.read(r.access)
	if err != nil {
		return err
	}
	same := bytes.Equal(data, r.admission.tokenData)
	if same && !failed {
		return nil
	}
	if err := r.admission.refuses(tokens, data, true); err != nil {
		return err
	}
	r.admission.set(tokens, data)
	r.enforce(r.admission.state(tokens, r.access.Policy))
	r.results.Done(observe.Settings, nil, false) // before the log line
	if same {
		r.log.Warn("the token file can be read again, and is as before")
		return nil
	}
	r.log.Warn("the token file has changed, and its tokens are in effect")
	if tokens.Len() == 0 {
		r.log.Warn("the token file has no token, and every client that needs one is refused")
	}
	r.admission.warnUnknownSubjects(r.access.Policy, r.log)
	return nil
}

// refuses returns the reason why tokens may not replace those in effect, or nil.
func (a *admission) refuses(tokens *access.Tokens, data []byte, sameRules bool) error {
	newline := []byte("\n")
	switch loses := !sameRules || !tokens.SubsetOf(a.tokens); {
	case (loses || tokens != nil && tokens.Len() == 0) && cutShort(a.tokenData, data):
		return cutShortError("--token-file " + a.tokenFile)
	case loses && bytes.HasSuffix(a.tokenData, newline) && !bytes.HasSuffix(data, newline):
		return fmt.Errorf("--token-file %s has no end of line at its end, unlike before, and looks cut short; write its last line whole", a.tokenFile)
	case a.required(tokens) != a.required(a.tokens):
		return errors.New("whether tokens are required cannot change while the server runs; restart it")
	}
	return nil
}

// cutShort reports whether a file is only the beginning of the file in effect, ignoring white space
// at the end. If rules, names or groups differ too, such a cut looks like an intended change, but
// the missing part may have hidden skills from callers. A file that lacks only whole tokens is
// harmless, since it only shuts clients out.
func cutShort(before, now []byte) bool {
	const blank = " \t\r\n"
	before, now = bytes.TrimRight(before, blank), bytes.TrimRight(now, blank)
	return len(now) < len(before) && bytes.HasPrefix(before, now)
}

func cutShortError(file string) error {
	return fmt.Errorf("%s is only the beginning of the previous file, lacks rules or token owners that are in effect, and looks cut short; write the whole file again, or, if you intend to remove something, make another change too, such as a comment in place of it, or restart the server", file)
}
