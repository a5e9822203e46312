package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// clone is a clone of the sources at the commit of a release.
type clone struct {
	dir  string
	env  []string
	time time.Time
}

// toolchain matches the line of go.mod with the version of Go that builds a release.
var toolchain = regexp.MustCompile(`(?m)^toolchain (go\S+)$`)

// cloneOf clones the commit that is checked out in source, and tags it with the version. The go
// command then writes that version into the program.
func cloneOf(ctx context.Context, source, dir, version string) (*clone, error) {
	c := &clone{dir: dir, env: os.Environ()}
	for _, args := range [][]string{
		{"clone", "--quiet", "--no-tags", "--shared", source, dir},
		{"-C", dir, "-c", "tag.gpgSign=false", "tag", version},
	} {
		if _, err := c.command(ctx, "", "git", args...); err != nil {
			return nil, err
		}
	}
	seconds, err := c.command(ctx, dir, "git", "-c", "log.showSignature=false", "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	s, err := strconv.ParseInt(strings.TrimSpace(string(seconds)), 10, 64)
	if err != nil {
		return nil, err
	}
	c.time = time.Unix(s, 0).UTC()
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	m := toolchain.FindSubmatch(mod)
	if m == nil {
		return nil, errors.New("go.mod has no toolchain line, which says with which Go a release is built")
	}
	// Set the lowest levels of the processors, since the environment could set others. Set GOFLAGS
	// too, since go env -w could have set it.
	c.env = append(c.env, "GOTOOLCHAIN="+string(m[1]), "GOFLAGS=-buildvcs=true", "GOEXPERIMENT=", "GOWORK=off", "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0")
	return c, nil
}

// build compiles the program for a system as SECURITY.md describes, unless the file exists.
func (c *clone) build(ctx context.Context, t target, program string) error {
	if _, err := os.Stat(program); err == nil {
		return nil
	}
	cross := *c
	cross.env = append(c.env[:len(c.env):len(c.env)], "GOOS="+t.os, "GOARCH="+t.arch)
	_, err := cross.command(ctx, c.dir, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/knack")
	return err
}

// materials returns the bill of materials of the program.
func (c *clone) materials(ctx context.Context, program string) ([]byte, error) {
	return c.command(ctx, c.dir, "go", "run", "-trimpath", "./internal/tools/sbom", program)
}

// image writes the container image that deploy/image makes.
func (c *clone) image(ctx context.Context, out string) error {
	_, err := c.command(ctx, filepath.Join(c.dir, "deploy", "image"), "go", "run", ".", "-o", out)
	return err
}

// documents returns the licence, the manual pages, and the completions for shells, which program
// prints.
func (c *clone) documents(ctx context.Context, program string) ([]file, error) {
	var docs []file
	pages, err := filepath.Glob(filepath.Join(c.dir, "doc", "man", "*.1"))
	if err != nil {
		return nil, err
	}
	for _, path := range append(pages, filepath.Join(c.dir, "LICENSE")) {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name := "LICENSE"
		if strings.HasSuffix(path, ".1") {
			name = "man/" + filepath.Base(path)
		}
		docs = append(docs, file{name, 0o644, data})
	}
	for _, shell := range []string{"bash", "fish", "powershell", "zsh"} {
		script, err := c.command(ctx, c.dir, program, "completion", shell)
		if err != nil {
			return nil, err
		}
		docs = append(docs, file{completions + shell, 0o644, script})
	}
	return docs, nil
}

// completions is the prefix of the names of files with completions.
const completions = "completions/knack."

// command runs a program and returns its output.
func (c *clone) command(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, c.env
	out, err := cmd.Output()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, e.Stderr)
	}
	return out, err
}
