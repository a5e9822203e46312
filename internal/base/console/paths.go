package console

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
)

// Absolute returns an absolute path. A relative path is relative to the working directory e.Dir.
func (e Env) Absolute(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.Dir, path)
	}
	return filepath.Clean(path)
}

// Shown returns a path as [DisplayPath] does, relative to the working directory or the home folder.
func (e Env) Shown(path string) string { return DisplayPath(path, []string{e.Dir}, e.Home) }

// DisplayPath returns a path as people write it. The path is relative to the nearest project, or
// begins with ~ for the home folder. A project at the root of the file system does not count, since
// every path is below it. Servers that a graphical client starts have such a project.
func DisplayPath(d string, projects []string, home string) string {
	near := ""
	for _, base := range append(slices.Clone(projects), home) {
		if _, ok := Below(d, base); ok && len(base) > len(near) && base != filepath.Dir(base) {
			near = base
		}
	}
	rel, ok := Below(d, near)
	switch {
	case !ok:
		return filepath.ToSlash(d)
	case near != home:
		return rel
	case rel == ".":
		return "~"
	}
	return "~/" + rel
}

// Below returns the slash-separated path of d relative to base. ok is false if d is not below base.
func Below(d, base string) (path string, ok bool) {
	if base == "" {
		return "", false
	}
	rel, err := filepath.Rel(base, d)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// ShellWord quotes a path so that a shell reads it as one word, byte for byte.
func ShellWord(path string) string {
	home, rest := "", path
	if strings.HasPrefix(path, "~/") {
		home, rest = "~/", path[2:]
	}
	switch {
	case !utf8.ValidString(rest) || Clean(rest) != rest || display.OneLine(rest) != rest:
		var b strings.Builder
		for _, c := range []byte(rest) {
			if c < ' ' || c >= 0x7f || c == '\'' || c == '\\' {
				fmt.Fprintf(&b, "\\%03o", c)
			} else {
				b.WriteByte(c)
			}
		}
		return home + "$'" + b.String() + "'"
	case path == "", strings.HasPrefix(path, "="), strings.ContainsAny(rest, " \t'\"\\$`;&|<>()*?[]{}#!~^"): // zsh expands =ls to the path of ls
		return home + "'" + strings.ReplaceAll(rest, "'", `'\''`) + "'"
	}
	return path
}

// Command returns a knack command for people to run, with each of its words quoted for a shell. It
// adds the --project, --dir, --below, --exclude and --config of the present command if the other
// command takes them: without them it would read other skills or settings.
func (e *Env) Command(words ...string) string {
	takes := func(flag string) bool { return e.Takes != nil && e.Takes(words[0], flag) }
	if e.Project != "" && !slices.Contains(words, "--project") && !slices.Contains(words, "--global") && takes("project") {
		words = append(slices.Clip(words), "--project", e.Project)
	}
	if takes("below") { // then --dir has the same meaning
		for _, dir := range e.Dirs {
			words = append(slices.Clip(words), "--dir", dir)
		}
		if e.Below {
			words = append(slices.Clip(words), "--below")
		}
		for _, label := range e.Exclude {
			words = append(slices.Clip(words), "--exclude", label)
		}
	}
	if e.Config != "" && takes("config") {
		words = append(slices.Clip(words), "--config", e.Config)
	}
	out := "knack"
	for _, w := range words {
		out += " " + ShellWord(w)
	}
	return out
}

// CommandAt is [Env.Command] for a check or scan of a path, which takes no flags that choose roots.
func (e *Env) CommandAt(words ...string) string {
	return (&Env{Config: e.Config, Takes: e.Takes}).Command(words...)
}

// Placeholder stands for a folder in commands that clients on other machines may read, since they
// learn no path.
const Placeholder = "DIR"

// Remote returns an Env whose [Env.Command] has placeholders for the paths in flags.
func (e *Env) Remote() *Env {
	r := &Env{Below: e.Below, Exclude: e.Exclude, Takes: e.Takes}
	if e.Config != "" {
		r.Config = "FILE"
	}
	if e.Project != "" {
		r.Project = Placeholder
	}
	for range e.Dirs {
		r.Dirs = append(r.Dirs, Placeholder)
	}
	return r
}

// Quoted puts a command into quotes for a text, unless the command contains quotes.
func Quoted(command string) string {
	if strings.Contains(command, "'") {
		return command
	}
	return "'" + command + "'"
}
