package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/buildinfo"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/memory"
	"github.com/knack-dev/knack/internal/cli/observe"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/distribution/follow"
	"github.com/knack-dev/knack/internal/server/metrics"
	"github.com/knack-dev/knack/internal/server/usage"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

// serveFlags are the flags of serve and their resolved values.
type serveFlags struct {
	from  selection.Flags
	web   httpFlags
	op    serveConfig
	entry string
	// listAll is set to list also the skills that the client already shows on its own.
	listAll bool
	tools   []*tool.Tool
	skills  *workspace.Workspace
	flags   *pflag.FlagSet // all flags of serve
}

func serveCommand(env *console.Env) *cobra.Command { return new(serveFlags).command(env) }

func (f *serveFlags) command(env *console.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the skills over MCP, on stdin and stdout or over HTTP",
		Long: `Serve the skills over MCP, on standard input and output, until the input ends.

A client starts it. For Claude Code, for example, this adds it:

  knack connect claude-code --write

Standard output carries the protocol and nothing else; what was skipped, and
why, goes to standard error. A signal (SIGINT, SIGTERM) ends the input too:
earlier requests are answered, for up to 10 seconds; a second signal ends that
at once. If answers are missing then, or the client does not read them, the exit
status is 3.

With --http ADDR it serves Streamable HTTP at http://ADDR/mcp, until it is
interrupted. If other machines can reach the address, clients need tokens
(--token-file, or access.tokens in knack.yaml); --no-auth turns this off. Your
knack.yaml then sets which clients see which skills, and more ('knack help
settings'); SIGHUP reloads it. --config FILE is used in its place, also without
--http; its http.listen is the address. 'knack help access' has more.`,
		Example: `  knack serve                              # on standard input and output
  knack serve --http 8080                  # at http://127.0.0.1:8080/mcp
  knack serve --dir skills --tools runner  # one folder, other tools`,
		Args: command.ArgCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(env); err != nil {
				return err
			}
			defer f.skills.Close()
			return serve(cmd.Context(), env, f)
		},
	}
	f.flags = cmd.Flags()
	f.from.Register(cmd, env)
	f.from.RegisterConfig("the settings are in `FILE`, not in your knack.yaml")
	f.from.RegisterTools("serve ")
	f.web.register(cmd)
	f.op.register(cmd)
	cmd.Flags().IntVar(&f.from.Tools.Limit, "description-limit", 0, "the most characters of a tool's description with its list of skills: `N`; 0 limits the list alone, to 16,000; a client that shows less gets less")
	cmd.Flags().StringVar(&f.from.Source, "source", "", "fetch, serve and follow the skills of `SOURCE`, for example oci://REGISTRY/REPO:TAG, instead of the well-known folders")
	cmd.Flags().BoolVar(&f.listAll, "list-all", false, "also list the skills that the client shows itself")
	cmd.Flags().StringVar(&f.entry, "entry", "", "the client's settings call this server `NAME`; connect adds this if it is not knack")
	return cmd
}

// check reads the configuration. It returns an error for invalid or conflicting flags.
func (f *serveFlags) check(env *console.Env) (err error) {
	if err := f.web.checkAddress(); err != nil {
		return err
	}
	f.from.HTTP = f.web.addr
	if f.skills, err = f.from.Open(); err != nil {
		return err
	}
	f.tools, _ = f.skills.Tools()
	f.op.file = f.skills.File()
	if f.web.addr == "" && f.op.file != nil {
		f.web.setting = f.op.file.Shown + ": http.listen"
	}
	f.web.addr = f.skills.Address()
	f.web.merge(&f.op)
	if err := f.web.check(); err != nil {
		return err
	}
	return f.op.merge(env, f.web.addr == "")
}

// slowRootTimeout bounds how long the first list waits for a root whose disk does not answer.
// Clients give a server about ten seconds to start.
const slowRootTimeout = 2 * time.Second

func serve(ctx context.Context, env *console.Env, f *serveFlags) error {
	if env.Alone {
		memory.Tune(env.Getenv)
		go memory.Release(ctx)
	}
	w, web, op := f.skills, &f.web, &f.op
	log := op.logger(env)
	found := log
	var scanned atomic.Bool
	if env.StderrTerminal && op.logFormat != "json" && !op.levelFixed {
		found = slog.New(quietScan{log.Handler(), &scanned})
	}
	tally := usage.New()
	serving := workspace.Serving{
		Log:     log,
		Drift:   func(skill, reason string, refused bool) { observe.Drift(op.audit, skill, reason, refused) },
		Event:   func(e follow.Event) { observe.Source(op.audit, e) },
		Catalog: catalog.Options{Log: found, Patience: slowRootTimeout},
		ListAll: f.listAll,
	}
	if web.addr != "" { // only an HTTP server counts usage
		serving.Catalog.Uses = tally.Uses
	}
	if err := w.Serve(serving); err != nil {
		return err
	}
	if web.addr != "" {
		if err := web.loadAccess(env, op); err != nil {
			return err
		}
	}
	// A write to a closed stream must be an error and not a signal. A client that has
	// closed only its end of stderr still waits for answers on stdout.
	signal.Ignore(syscall.SIGPIPE)
	// A signal only ends the input. The server still answers earlier requests, for as long as the
	// transport drains.
	interrupted := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if env.StderrTerminal && web.addr == "" {
		op.level.Set(max(op.level.Level(), slog.LevelError)) // until the banner has been printed
	}
	if err := op.open(env, log); err != nil {
		return err
	}
	defer op.end(log)
	defer w.Close() // before the audit log is closed
	if op.file != nil && web.addr == "" {
		if _, only := config.Transports(op.file.Data, config.Named); len(only) > 0 {
			log.Warn("these sections apply only over HTTP; on standard input and output, no rule hides a skill", "file", op.file.Shown, "sections", strings.Join(only, ", "))
		}
	}
	warnUnusable(log, w.Unusable())
	for _, text := range w.Unread() {
		log.Warn(text)
	}
	c := w.Catalog()
	read := func() {}
	if env.StderrTerminal {
		read = workspace.ShowReading(env, c) // before Start, whose fetches are nested steps
	}
	defer w.Start(ctx)() // the scan goes on during the rest of the start
	if env.StderrTerminal {
		go func() {
			_, _ = c.CompleteView(ctx, time.Hour)
			scanned.Store(true)
			read()
		}()
	}
	options := mcpserver.Options{Catalog: c, Tools: f.tools, Version: buildinfo.Current().Version, Log: log, Engage: w.Engage, Entry: f.entry, Access: web.gate,
		Remote: web.addr != "" && !web.isLocal(), Private: web.addr == "" || web.tokens || web.policy != nil} // a server over stdio has one user
	if !w.Fixed() && web.addr == "" {
		options.Roots = func(ctx context.Context, folders []string) {
			warnRoots(log, *env, folders)
			unusable, err := w.SetProjects(ctx, folders)
			if err != nil {
				log.Warn("the client's roots cannot be used", "error", err.Error())
			}
			warnUnusable(log, unusable)
		}
	}
	pages := web.pageOptions(&options, tally)
	counts := new(metrics.Counts)
	if op.audit != nil {
		options.Events, options.Audit = append(options.Events, op.audit), true
	}
	if web.addr != "" {
		options.Events = append(options.Events, tally, counts)
	}
	server := mcpserver.New(options)
	go func() {
		v, err := c.View(ctx)
		if err != nil {
			return
		}
		if env.StderrTerminal && web.addr == "" {
			banner(env, f, v)
			op.level.Set(levelOf(op.logLevel))
		}
		for _, text := range w.Missing(v) {
			log.Warn(text)
		}
		if env.StderrTerminal && web.addr == "" {
			f.complete(ctx, env, c, v)
		}
	}()
	if web.addr != "" {
		h := httpServer{serveFlags: f, env: env, server: server, counts: counts, pages: pages}
		return h.run(interrupted)
	}
	err := server.Run(ctx, &mcpserver.StdioTransport{In: env.Stdin, Interrupt: interrupted.Done(), Out: env.Stdout, Logger: log})
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return command.RunError("", "the session ended: %w", err)
}

// warnUnusable logs the reasons why a project's settings are not used.
func warnUnusable(log *slog.Logger, unusable []error) {
	for _, err := range unusable {
		log.Warn("the settings of a project cannot be used", "error", err.Error())
	}
}

// warnRoots logs the problem with each unusable root of a client, once per root. It does not log
// the folders below such a root, which are merely missing.
func warnRoots(log *slog.Logger, env console.Env, folders []string) {
	for _, d := range folders {
		if err := dir.Check(d); err != nil {
			words, _ := skill.FolderReason(err)
			log.Warn("a root of the client cannot be used", "root", console.DisplayPath(d, nil, env.Home), "error", words)
		}
	}
}

// ownServer returns the client entry that starts this knack. It prefers a link on PATH to the path
// of the program, since an upgrade points the link to the new version. Command is empty if the path
// of the executable is unknown.
func ownServer(env console.Env) clientconfig.Server {
	path, err := os.Executable()
	if err != nil {
		path = ""
	}
	if linked := new(connectFlags).clientEnv(env).Program(clientconfig.Name); linked != "" && realpath.Same(linked, path) {
		path = linked
	}
	return clientconfig.NewServer(runtime.GOOS, path, buildinfo.Current().Version)
}
