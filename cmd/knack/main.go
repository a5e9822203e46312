// Command knack serves the skills of a person or a company to any agent.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/knack-dev/knack/internal/cli"
	"github.com/knack-dev/knack/internal/console"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := cli.Main(ctx, console.System(), os.Args[1:])
	stop()
	os.Exit(code)
}
