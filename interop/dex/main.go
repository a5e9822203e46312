// Command dex runs the OpenID Connect provider Dex with two users, for tests of the sign-in. It is
// a module of its own, so that knack's module does not have its dependencies.
//
//	dex REDIRECT-URL
//
// It listens on a free port of the loopback address, prints the issuer's URL on a line, and ends
// when its standard input closes. It has three clients. The client knack has the secret "client
// secret" and the given redirect URL. The client agent has the secret "agent secret" and is
// redirected to http://127.0.0.1/agent. The client native has no secret and is redirected to any
// port of the loopback address. The users are anna@example.com, who is in the group billing, and
// bert@example.com, who is in no group. The password of both is "password".
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/server/connectors"
	"github.com/dexidp/dex/server/session"
	"github.com/dexidp/dex/server/signer"
	"github.com/dexidp/dex/server/tokens"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"golang.org/x/crypto/bcrypt"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dex REDIRECT-URL")
		os.Exit(2)
	}
	if err := serve(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, redirect string) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	store := memory.New(log)
	if err := fill(ctx, store, redirect); err != nil {
		return err
	}
	local := &signer.LocalConfig{KeysRotationPeriod: "6h"}
	signs, err := local.Open(ctx, store, time.Hour, time.Now, log)
	if err != nil {
		return err
	}
	// To a browser, localhost is another site than 127.0.0.1.
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		return err
	}
	issuer := "http://localhost:" + port + "/dex"
	handler, err := server.NewServer(ctx, server.Config{
		Issuer: issuer, Storage: store, SkipApprovalScreen: true, PasswordConnector: connectors.LocalConnector, Signer: signs, Logger: log,
		RefreshTokenPolicy: tokens.NewRefreshStrategy(true, 0, 0, 0, nil),
		SessionConfig:      &session.Config{CookieName: "dex", AbsoluteLifetime: time.Hour, ValidIfNotUsedFor: time.Hour},
	})
	if err != nil {
		return err
	}
	fmt.Println(issuer)
	go func() { _ = http.Serve(ln, handler) }()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// fill adds the clients and the users to Dex.
func fill(ctx context.Context, store storage.Storage, redirect string) error {
	if err := store.CreateConnector(ctx, storage.Connector{ID: connectors.LocalConnector, Type: connectors.LocalConnector, Name: "Email", Config: []byte("{}")}); err != nil {
		return err
	}
	if err := store.CreateClient(ctx, storage.Client{ID: "knack", Secret: "client secret", Name: "knack", RedirectURIs: []string{redirect}}); err != nil {
		return err
	}
	if err := store.CreateClient(ctx, storage.Client{ID: "agent", Secret: "agent secret", Name: "agent", RedirectURIs: []string{"http://127.0.0.1/agent"}}); err != nil {
		return err
	}
	if err := store.CreateClient(ctx, storage.Client{ID: "native", Public: true, Name: "knack on a person's machine"}); err != nil {
		return err
	}
	hash, err := bcrypt.GenerateFromPassword([]byte("password"), bcrypt.MinCost+6)
	if err != nil {
		return err
	}
	for name, groups := range map[string][]string{"anna": {"billing"}, "bert": nil} {
		if err := store.CreatePassword(ctx, storage.Password{Email: name + "@example.com", Hash: hash, Username: name, UserID: name, Groups: groups}); err != nil {
			return err
		}
	}
	return nil
}
