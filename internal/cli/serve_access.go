package cli

import (
	"bytes"
	"context"
	"errors"
	"log/slog"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/server/openid"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

// admission decides which clients may call the server over HTTP, and which skills they see. It can
// be reloaded while the server runs.
type admission struct {
	env       *console.Env
	tokenFile string
	signIn    *openid.Provider // nil without a sign-in provider
	tokens    *access.Tokens   // nil: without signIn, every client may call
	tokenData []byte           // the token file in effect
	seen      settings.Seen    // the token file's state just before it was first read
}

// read reads the token file, and adds the tokens of the configuration. data is the content of the
// file.
func (a *admission) read(given config.Access) (tokens *access.Tokens, data []byte, err error) {
	if a.tokenFile != "" {
		if a.seen == nil {
			a.seen = settings.Look(a.env.Absolute(a.tokenFile))
		}
		data, err = settings.ReadUserFile(a.env.Absolute(a.tokenFile))
		if err == nil && len(data) > config.MaxSize {
			err = skill.ErrTooLarge
		}
		if err != nil {
			return nil, nil, command.RunError(settings.HintOf(err, tokensReadable), "--token-file %s: %s", a.tokenFile, settings.ReasonOf(err))
		}
		tokens, err = access.ParseTokens(bytes.NewReader(data))
		// The last token was revoked while the server runs.
		if errors.Is(err, access.ErrNoToken) && a.tokens != nil && len(bytes.TrimSpace(data)) > 0 {
			tokens, err = &access.Tokens{}, nil
		}
		if err != nil {
			return nil, nil, command.RunError("give the line that 'knack token new' prints for the file, never the token itself", "--token-file %s: %w", a.tokenFile, err)
		}
	}
	if more := given.Tokens; len(more) > 0 {
		tokens = tokens.With(more)
	}
	return tokens, data, nil
}

// watch calls changed after each change of the token file since it was first read. It returns when
// the context ends.
func (a *admission) watch(ctx context.Context, changed func()) {
	if a.tokenFile != "" {
		settings.Watch(ctx, a.env.Absolute(a.tokenFile), a.seen, changed)
	}
}

// set puts the result of read into effect.
func (a *admission) set(tokens *access.Tokens, data []byte) {
	a.tokens, a.tokenData = tokens, data
}

// required reports whether clients need a token, or have to sign in.
func (a *admission) required(tokens *access.Tokens) bool { return tokens != nil || a.signIn != nil }

// state returns the access state of tokens and rules.
func (a *admission) state(tokens *access.Tokens, policy *access.Policy) access.State {
	switch {
	case a.signIn == nil && tokens == nil:
		return access.State{Policy: policy}
	case a.signIn == nil:
		return access.State{Verifier: tokens, Policy: policy}
	case tokens == nil:
		return access.State{Verifier: a.signIn, Policy: policy}
	}
	return access.State{Verifier: access.AnyOf(tokens, a.signIn), Policy: policy}
}

// warnUnknownSubjects logs the subjects and groups of the rules that no token has. Names from a
// sign-in provider are unknown here.
func (a *admission) warnUnknownSubjects(policy *access.Policy, log *slog.Logger) {
	if policy == nil || a.signIn != nil {
		return
	}
	for _, s := range policy.UnknownNames(a.tokens) {
		what := "subject"
		if s.Group {
			what = "group"
		}
		about := []any{what, s.Name}
		if s.Near != "" {
			about = append(about, "near", s.Near)
		}
		log.Warn("an access rule applies to a "+what+" that no token has: it may be misspelt", about...)
	}
}
