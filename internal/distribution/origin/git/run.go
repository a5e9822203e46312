package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// setup describes the program and the user's settings.
type setup struct {
	program string
	env     []string // of every run; GIT_ALLOW_PROTOCOL is added
	allowed string   // the user's own GIT_ALLOW_PROTOCOL, or ""
	plain   bool     // no user setting affects connections
}

// oldest is the oldest version of git with fetch --stdin and --no-write-fetch-head.
var oldest = [2]int{2, 29}

// useArchive is the advice for a user without a suitable git.
const useArchive = "or name an archive of the repository, such as https://HOST/OWNER/REPO/archive/REF.tar.gz, which needs no git"

// noRepository is a --git-dir that keeps git from searching for a repository around the working
// directory.
const noRepository = "/dev/null"

var versionLine = lazyregexp.New(`^git version ([0-9]+)\.([0-9]+)`)

// look finds the program, and checks the user's settings.
func (g *Origin) look() (*setup, error) {
	s := &setup{}
	name := g.opts.Program
	if name == "" {
		name = "git"
	}
	var err error
	if s.program, err = exec.LookPath(name); err != nil {
		return nil, fmt.Errorf("the program git is not installed: install it, %s", useArchive)
	}
	s.env = g.environment(s)
	version, err := s.answer("version")
	m := versionLine().FindStringSubmatch(version)
	if err != nil || m == nil {
		return nil, fmt.Errorf("%s does not say which version of git it is: install git %d.%d or newer, %s", s.program, oldest[0], oldest[1], useArchive)
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major < oldest[0] || major == oldest[0] && minor < oldest[1] {
		return nil, fmt.Errorf("git %d.%d is too old: install git %d.%d or newer, %s", major, minor, oldest[0], oldest[1], useArchive)
	}
	settings, err := s.answer("--git-dir="+noRepository, "config", "--list", "--name-only", "-z")
	if err != nil {
		return nil, errors.New("git cannot read its own settings: run git config --list, and correct what it says")
	}
	s.plain = true
	ssh := false
	for name := range strings.SplitSeq(strings.ToLower(settings), "\x00") {
		section, _, _ := strings.Cut(name, ".")
		s.plain = s.plain && !slices.Contains([]string{"http", "url"}, section)
		ssh = ssh || name == "core.sshcommand"
	}
	for _, v := range s.env {
		name, _, _ := strings.Cut(v, "=")
		s.plain = s.plain && !strings.HasPrefix(name, "GIT_SSL_") && !strings.HasPrefix(name, "GIT_HTTP") && !strings.HasPrefix(name, "GIT_PROXY") && !strings.EqualFold(name, "ALL_PROXY")
		ssh = ssh || name == "GIT_SSH_COMMAND" || name == "GIT_SSH"
	}
	if !ssh {
		command := sshCommand
		if !g.opts.Terminal {
			command += " -oBatchMode=yes"
		}
		s.env = append(s.env, "GIT_SSH_COMMAND="+command)
	}
	return s, nil
}

// sshCommand runs ssh with a timeout for silent servers, before and after the login. It is not
// used if the user has set another program, which may have other options.
const sshCommand = "ssh -oConnectTimeout=30 -oServerAliveInterval=15 -oServerAliveCountMax=2"

// answer runs git and returns its output.
func (s *setup) answer(args ...string) (string, error) {
	cmd := exec.Command(s.program, args...)
	cmd.Env = s.env
	out, err := cmd.Output()
	return string(out), err
}

// elsewhere lists the variables that point git to another repository or to templates, from git
// rev-parse --local-env-vars. Variables with user settings stay.
var elsewhere = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE",
	"GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE",
	"GIT_TEMPLATE_DIR", "GIT_WORK_TREE", "GIT_DEFAULT_HASH", "GIT_EXTERNAL_DIFF", "GIT_PROTOCOL",
	// Set by environment itself.
	"GIT_ALLOW_PROTOCOL", "GIT_NO_LAZY_FETCH", "GIT_NO_REPLACE_OBJECTS", "GIT_LITERAL_PATHSPECS", "LC_ALL", "LANGUAGE",
}

// environment returns the environment of every run of git. It is the user's environment, with
// credentials and proxies, but without the variables in elsewhere.
func (g *Origin) environment(s *setup) []string {
	env := make([]string, 0, len(g.opts.Env)+8)
	for _, v := range g.opts.Env {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case name == "GIT_ALLOW_PROTOCOL":
			s.allowed = value
		case slices.Contains(elsewhere, name), name == "GIT_TERMINAL_PROMPT" && !g.opts.Terminal:
			continue
		default:
			env = append(env, v)
		}
	}
	env = append(env, "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_LITERAL_PATHSPECS=1", "LC_ALL=C", "LANGUAGE=")
	if !g.opts.Terminal {
		env = append(env, "GIT_TERMINAL_PROMPT=0")
	}
	return env
}

// protocols returns the protocols that an address may use, limited to the protocols that the user's
// environment allows.
func (s *setup) protocols(at address) string {
	protocols := at.protocols
	if s.allowed != "" {
		users := strings.Split(s.allowed, ":")
		protocols = slices.DeleteFunc(slices.Clone(protocols), func(p string) bool { return !slices.Contains(users, p) })
	}
	return "GIT_ALLOW_PROTOCOL=" + strings.Join(protocols, ":") // an empty list allows nothing
}

// always has the settings of every run, which override the user's settings. They disable everything
// that git does by itself: hooks, watchers, submodules, and garbage collection, which would remove
// objects without a branch.
var always = []string{
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "fetch.fsckObjects=true", "submodule.recurse=false",
	// Ignore harmless faults that old programs wrote.
	"fetch.fsck.zeroPaddedFilemode=ignore", "fetch.fsck.badTimezone=ignore", "fetch.fsck.missingSpaceBeforeDate=ignore",
	"fetch.recurseSubmodules=false", "fetch.writeCommitGraph=false", "gc.auto=0", "maintenance.auto=false",
	"protocol.version=2", "color.ui=false", "init.defaultBranch=main",
	"core.bigFileThreshold=8m",                     // larger files are never completely in memory
	"http.lowSpeedLimit=1", "http.lowSpeedTime=30", // half a minute without a byte ends a transfer
	"http.followRedirects=false", // redirects are checked before
}

// call is one run of git.
type call struct {
	address address // the permitted address; without protocols no server is contacted
	dir     string
	config  []string // additional settings
	args    []string
	stdin   io.Reader
	// stdout reads the output of git. If it returns an error, git is killed.
	stdout func(io.Reader) error
	// received, if set, is called with the number of received bytes. If it returns an error, git
	// is killed.
	received func(int64) error
	// location, if set, gets the target of a redirect.
	location *string
}

// errLate is the error of a run of git that contacted a server and took too long.
var errLate = errors.New("the server was not done after an hour: it is too slow, or sends without end")

// endTime is the time within which git must end after an interrupt. A program that git started may
// keep git's streams open for the same time.
const endTime = 2 * time.Second

// run runs git. The error explains git's failure in plain words.
func (g *Origin) run(ctx context.Context, c call) error {
	s, err := g.start()
	if err != nil {
		return err
	}
	args := []string{"--git-dir=" + c.dir}
	for _, setting := range slices.Concat(always, c.config) {
		args = append(args, "-c", setting)
	}
	if len(c.address.protocols) > 0 {
		limit := g.opts.limit
		if limit == 0 {
			limit = time.Hour
		}
		var end context.CancelFunc
		ctx, end = context.WithTimeoutCause(ctx, limit, errLate)
		defer end()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cmd := exec.CommandContext(ctx, s.program, append(args, c.args...)...)
	cmd.Env = append(slices.Clip(s.env), s.protocols(c.address))
	cmd.Stdin = c.stdin
	if c.location != nil {
		cmd.Env = append(cmd.Env, "GIT_TRACE_CURL=1", "GIT_TRACE_CURL_NO_DATA=1", "GIT_TRACE_REDACT=1")
	}
	said := &transcript{received: c.received, stop: stop, location: c.location}
	cmd.Stderr = said
	cmd.WaitDelay = endTime
	end := together(cmd, g.opts.Terminal)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("git cannot be started: %w", err)
	}
	defer end()
	if c.stdout == nil {
		c.stdout = func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }
	}
	if err := c.stdout(out); err != nil {
		stop(err)
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // a program that git started keeps its streams open
		return nil
	}
	return said.reason(c.args[0], err)
}
