// Command registry is CNCF distribution, a registry of OCI artifacts, in memory, for tests. It is
// in a module of its own, so that knack's has no such dependencies.
//
//	registry [HTPASSWD-FILE]
//
// It listens on a free port of the loopback, prints its address on a line, and ends with its
// standard input. With a file, it wants a name and a password from it.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/sirupsen/logrus"
)

func main() {
	if len(os.Args) > 2 {
		fmt.Fprintln(os.Stderr, "usage: registry [HTPASSWD-FILE]")
		os.Exit(2)
	}
	if err := serve(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, passwords []string) error {
	logrus.SetOutput(io.Discard)
	config := &configuration.Configuration{Storage: configuration.Storage{"inmemory": configuration.Parameters{}}}
	config.HTTP.Secret = "of a test"
	if len(passwords) == 1 {
		config.Auth = configuration.Auth{"htpasswd": configuration.Parameters{"realm": "knack", "path": passwords[0]}}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	app := handlers.NewApp(ctx, config)
	fmt.Println(ln.Addr())
	go func() { _ = http.Serve(ln, app) }()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
