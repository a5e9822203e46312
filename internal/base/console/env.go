// Package console is what a command takes from its process and how it writes to it: the
// environment, output that is safe on a terminal, and what a person sees while they wait.
package console

import (
	"io"
	"net/http"
	"net/url"
	"os"

	"golang.org/x/term"
)

// Env has everything that a command takes from its process.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Environ        []string // all of the environment, for a program that is started
	Dir            string   // the working directory
	// Proxy is [http.ProxyFromEnvironment], or nil for no proxy.
	Proxy func(*http.Request) (*url.URL, error)
	// Local reaches the servers on this machine that no user named; nil for the network.
	Local http.RoundTripper
	Home  string // the user's home folder, "" if unknown
	// User returns the name of the system's user; nil if it is unknown. See [Env.UserName].
	User func() string
	// StdinTerminal and the like report whether the stream is a terminal.
	StdinTerminal, StdoutTerminal, StderrTerminal bool
	// Width is the width in columns of the terminal, be it stdout or stderr; 0 if unknown.
	Width int
	// Plain is set if the terminal shows escape sequences as text, as an old console of Windows.
	Plain bool

	progress *progress // see [Start]
}

// getenv is Getenv, which tests may leave out.
func (e *Env) getenv(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

// System is the environment of this process.
func System() Env {
	dir, _ := os.Getwd() // without it, only --dir and the home folder are served
	home, _ := os.UserHomeDir()
	e := Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Environ: os.Environ(), Proxy: http.ProxyFromEnvironment, Dir: dir, Home: home, User: systemUser,
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
