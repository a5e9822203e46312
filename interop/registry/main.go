// Command registry runs CNCF distribution, a registry of OCI artifacts, for tests. It is a module
// of its own, so that knack's module does not have its dependencies.
//
//	registry [-address ADDRESS] [-folder DIR] [HTPASSWD-FILE]
//
// It listens on a free port of the loopback address unless an address is given, prints its address
// on a line, and ends when its standard input closes. It stores its content in memory unless a
// folder is given. With a password file, it requires a name and a password from that file.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/sirupsen/logrus"
)

func main() {
	address := flag.String("address", "127.0.0.1:0", "where to listen")
	folder := flag.String("folder", "", "where to keep what it holds")
	flag.Parse()
	if flag.NArg() > 1 {
		fmt.Fprintln(os.Stderr, "usage: registry [-address ADDRESS] [-folder DIR] [HTPASSWD-FILE]")
		os.Exit(2)
	}
	if err := serve(context.Background(), *address, *folder, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, address, folder string, passwords []string) error {
	logrus.SetOutput(io.Discard)
	storage := configuration.Storage{"inmemory": configuration.Parameters{}}
	if folder != "" {
		storage = configuration.Storage{"filesystem": configuration.Parameters{"rootdirectory": folder}}
	}
	config := &configuration.Configuration{Storage: storage}
	config.HTTP.Secret = "of a test"
	if len(passwords) == 1 {
		config.Auth = configuration.Auth{"htpasswd": configuration.Parameters{"realm": "knack", "path": passwords[0]}}
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	app := handlers.NewApp(ctx, config)
	fmt.Println(ln.Addr())
	go func() { _ = http.Serve(ln, app) }()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
