// Command knack serves the skills of a person or a company to any agent.
package main

import (
	"os"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
)

func main() {
	ctx, stop := console.UntilSignal()
	code := cli.Main(ctx, console.System(), os.Args[1:])
	stop()
	os.Exit(code)
}
