// Package console connects a command to its process: the environment, output that is safe on a
// terminal, and progress for people who wait.
package console

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/term"
)

// Env is the process environment of a command.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Environ        []string // the whole environment, for starting programs
	Dir            string   // the working directory
	// Proxy is [http.ProxyFromEnvironment], or nil for no proxy.
	Proxy func(*http.Request) (*url.URL, error)
	// Local connects to servers on this machine that no user named. It is nil to use the network.
	Local http.RoundTripper
	Home  string // the user's home folder, or "" if unknown
	// User returns the name of the system's user. It is nil if the name is unknown. See
	// [Env.UserName].
	User func() string
	// StdinTerminal, StdoutTerminal and StderrTerminal report whether the stream is a terminal.
	StdinTerminal, StdoutTerminal, StderrTerminal bool
	// Width is the width of the terminal on stdout or stderr, in columns, or 0 if unknown.
	Width int
	// Plain is true if the terminal shows escape sequences as text, as old Windows consoles do.
	Plain bool
	// Config, Project, Dirs, Exclude and Below are the values of the command's flags --config,
	// --project, --dir, --exclude and --below.
	Config, Project string
	Dirs, Exclude   []string
	Below           bool
	// Takes reports whether a command of knack has a flag. It is nil if no command is known.
	Takes func(command, flag string) bool
	// Alone reports whether the process ends with this command. Such a command may tune the garbage
	// collector.
	Alone bool

	progress *progress // see [Start]
}

// Variable returns the value of an environment variable. Tests may leave Getenv nil.
func (e *Env) Variable(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

// Folders returns two folders of the user. cache is for files that knack can make again, and state
// is for its other files. A folder is "" if unknown.
func (e *Env) Folders() (cache, state string) {
	if cache = e.Variable("XDG_CACHE_HOME"); !filepath.IsAbs(cache) {
		cache = ""
	}
	if state = e.Variable("XDG_STATE_HOME"); !filepath.IsAbs(state) {
		state = ""
	}
	if e.Home != "" {
		if state == "" {
			state = filepath.Join(e.Home, ".local", "state")
		}
		local := e.Variable("LocalAppData")
		switch {
		case cache != "":
		case runtime.GOOS == "windows" && local != "":
			cache = local
		case runtime.GOOS == "darwin":
			cache = filepath.Join(e.Home, "Library", "Caches")
		default:
			cache = filepath.Join(e.Home, ".cache")
		}
	}
	if cache == "" {
		return "", ""
	}
	if state == "" {
		state = cache
	}
	return filepath.Join(cache, "knack"), filepath.Join(state, "knack")
}

// System returns the environment of this process.
func System() Env {
	dir, _ := os.Getwd() // if it fails, only --dir and the home folder are served
	home, _ := os.UserHomeDir()
	e := Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Environ: os.Environ(), Proxy: http.ProxyFromEnvironment, Dir: dir, Home: home, User: systemUser, Alone: true,
		StdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		StderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
	e.Plain = e.StdoutTerminal && !showsEscapes(os.Stdout) || e.StderrTerminal && !showsEscapes(os.Stderr)
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && e.Width == 0 {
			e.Width = w
		}
	}
	return e
}
