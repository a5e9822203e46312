package cli

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/server/audit"
	"github.com/knack-dev/knack/internal/server/usage"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/internal/workspace/usagefile"
)

// serveConfig has the settings of a server's log and audit log. They come from the configuration,
// and flags take precedence.
type serveConfig struct {
	auditTo             string
	logLevel, logFormat string

	file  *settings.File // the configuration in effect; nil without one
	audit *audit.Log
	level slog.LevelVar
	// levelFixed is set if a flag sets the log level. A reload then does not change the level.
	levelFixed bool
}

func (o *serveConfig) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.auditTo, "audit", "", "write the audit log to `FILE`, or with --http to stdout, one JSON object a line")
	flags.StringVar(&o.logLevel, "log-level", "", "log messages of this `LEVEL` and above on standard error: "+strings.Join(config.LogLevels, ", "))
	flags.StringVar(&o.logFormat, "log-format", "", "the `FORMAT` of the log on standard error: "+strings.Join(config.LogFormats, ", "))
	_ = cmd.MarkFlagFilename("audit")
	_ = cmd.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(config.LogLevels, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions(config.LogFormats, cobra.ShellCompDirectiveNoFileComp))
}

// configuration returns the configuration, or an empty one without a file.
func (o *serveConfig) configuration() config.Config {
	if o.file == nil {
		return config.Config{}
	}
	return o.file.Config
}

// merge sets the settings without a flag from the configuration.
func (o *serveConfig) merge(env *console.Env, overStdio bool) error {
	c := o.configuration()
	o.levelFixed = o.logLevel != ""
	if o.auditTo == "" {
		o.auditTo = c.Audit.To
		if !isStream(o.auditTo) {
			o.auditTo = o.file.Resolve(o.auditTo)
		}
	} else if !isStream(o.auditTo) {
		o.auditTo = env.Absolute(o.auditTo)
	}
	if o.auditTo == "stdout" && overStdio {
		return command.UsageError("give a file, or stderr", "--audit stdout: standard output carries the protocol")
	}
	for _, w := range []struct {
		flag, given, normal string
		words               []string
		to                  *string
	}{
		{"--log-level", c.Log.Level, "warn", config.LogLevels, &o.logLevel},
		{"--log-format", c.Log.Format, "text", config.LogFormats, &o.logFormat},
	} {
		switch {
		case *w.to == "" && w.given != "":
			*w.to = w.given
		case *w.to == "":
			*w.to = w.normal
		case !slices.Contains(w.words, *w.to):
			return command.UsageError(typo.Hint(*w.to, w.words, "give one of "+strings.Join(w.words, ", ")), "%s %s: unknown value", w.flag, *w.to)
		}
	}
	return nil
}

func isStream(to string) bool { return to == "stdout" || to == "stderr" }

// logger returns the server's log.
func (o *serveConfig) logger(env *console.Env) *slog.Logger {
	o.level.Set(levelOf(o.logLevel))
	return slog.New(o.handler(env.Stderr, &o.level))
}

// handler returns a handler that writes no invisible or control characters. Log lines contain names
// and paths of skills, which are untrusted. The handlers of slog let some such characters through,
// for example DEL.
func (o *serveConfig) handler(w io.Writer, level slog.Leveler) slog.Handler {
	if o.logFormat == "json" {
		return slog.NewJSONHandler(visibleLines{w, func(line []byte) []byte { return display.AppendVisibleJSON(nil, line) }}, &slog.HandlerOptions{Level: level})
	}
	return slog.NewTextHandler(visibleLines{w, func(line []byte) []byte { return []byte(display.Visible(string(line), display.Escaped)) }}, &slog.HandlerOptions{Level: level})
}

// visibleLines is a writer of whole lines. It changes each line with the function convert.
type visibleLines struct {
	w       io.Writer
	convert func(line []byte) []byte
}

func (v visibleLines) Write(line []byte) (int, error) {
	_, err := v.w.Write(v.convert(line))
	return len(line), err
}

func levelOf(word string) slog.Level {
	level := slog.LevelWarn
	_ = level.UnmarshalText([]byte(word)) // accepts the configuration's words in any case
	return level
}

// open opens the audit log, if one is configured.
func (o *serveConfig) open(env *console.Env, log *slog.Logger) error {
	if o.auditTo == "" {
		return nil
	}
	files := config.DefaultAudit
	if c := o.configuration().Audit; c.To != "" {
		files = c
	}
	options := audit.Options{MaxSize: files.MaxSize, Keep: files.Keep, Trouble: func(err error) {
		if err != nil {
			log.Error("the audit log cannot be written, and lines are missing until it can", "reason", err.Error())
			return
		}
		log.Warn("the audit log is written again, and records how many lines are missing")
	}}
	switch {
	case o.auditTo == "stdout":
		o.audit = audit.OnWriter(env.Stdout, options)
		return nil
	case o.auditTo == "stderr":
		o.audit = audit.OnWriter(env.Stderr, options)
		return nil
	}
	var err error
	if o.audit, err = audit.Open(o.auditTo, options); err != nil {
		hint := "create the folder, and let the user who runs knack write to it"
		if errors.Is(err, audit.ErrIrregular) {
			hint = "name a file, stdout or stderr"
		}
		return command.RunError(hint, "the audit log %s cannot be written: %s", o.auditTo, whyUnwritten(err))
	}
	return nil
}

// whyUnwritten describes why a file cannot be opened for writing.
func whyUnwritten(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "there is no such folder"
	}
	return command.Cause(err).Error()
}

// keep starts saving the usage counts in a file, if one is set.
func (o *serveConfig) keep(t *usage.Tally, log *slog.Logger) *usagefile.Ledger {
	if file := o.configuration().Usage.File; file != "" {
		return usagefile.Open(o.file.Resolve(file), t, log)
	}
	return nil
}

// end closes the audit log, which writes the pending lines.
func (o *serveConfig) end(log *slog.Logger) {
	if err := o.audit.Close(); err != nil {
		log.Error("the audit log is incomplete", "reason", err.Error())
	}
}
