package cli

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
)

// admission is who may ask over HTTP, and what they see. It can be read again
// while it holds.
type admission struct {
	env               *Env
	tokenFile, config string
	tokens            atomic.Pointer[access.Tokens] // nil: everybody may ask
}

// Verify knows the tokens that were read last.
func (a *admission) Verify(ctx context.Context, token string) (access.Subject, bool) {
	return a.tokens.Load().Verify(ctx, token)
}

// read reads the token file and the configuration.
func (a *admission) read() (*access.Tokens, *access.Policy, error) {
	var tokens *access.Tokens
	if a.tokenFile != "" {
		file, err := os.Open(absolute(*a.env, a.tokenFile))
		if err != nil {
			return nil, nil, runError("", "--token-file %s: %s", a.tokenFile, reasonOf(err))
		}
		defer file.Close()
		if tokens, err = access.ParseTokens(file); err != nil {
			return nil, nil, runError("", "--token-file %s: %w", a.tokenFile, err)
		}
	}
	own, err := newSettings(a.env, a.config).own()
	if err != nil || own == nil {
		return tokens, nil, err
	}
	if more := own.config.Access.Tokens; len(more) > 0 {
		tokens = tokens.With(more)
	}
	return tokens, own.config.Access.Policy, nil
}

// reload reads everything again on each SIGHUP. What is wrong is refused whole,
// and what held before holds.
func (a *admission) reload(ctx context.Context, c *catalog.Catalog, server *mcpserver.Server, h *mcpserver.HTTP, log *slog.Logger) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		tokens, policy, err := a.read()
		switch {
		case err != nil:
			log.Error("the configuration was not taken over; the one before holds", "reason", err.Error())
			continue
		case (tokens == nil) != (a.tokens.Load() == nil):
			log.Error("the configuration was not taken over; the one before holds", "reason", "whether tokens are required cannot change while the server runs; start it anew")
			continue
		}
		a.tokens.Store(tokens)
		server.Restrict(policy)
		h.Recheck()
		log.Warn("the configuration was read again")
		warnOfIdle(ctx, c, policy, log)
	}
}

// warnOfIdle names the patterns that no skill matches.
func warnOfIdle(ctx context.Context, c *catalog.Catalog, policy *access.Policy, log *slog.Logger) {
	if policy == nil {
		return
	}
	v, err := c.View(ctx)
	if err != nil {
		return
	}
	for _, p := range policy.Idle(v.Entries) {
		log.Warn("no skill matches a pattern of the access rules: it may be misspelt", "pattern", p.String())
	}
}
