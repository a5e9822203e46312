package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/edit"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/source/dir"
)

// insideProject refuses a write to file if a link in the project of folder leads out of
// that project, because the links of a clone come from its author. It accepts a file that
// the user named by its own path. With the error it returns the link's target in displayed
// form, which the user can name instead.
func insideProject(env console.Env, folder, file string) (target string, err error) {
	chain := dir.Repository(folder)
	top := chain[len(chain)-1]
	if top == env.Home { // a repository of the user's own settings
		top = folder
	}
	if top == env.Home {
		return "", nil
	}
	err = edit.Inside(top, file)
	if out := (*edit.OutsideError)(nil); errors.As(err, &out) {
		target = atHome(env, out.Target)
		return target, fmt.Errorf("%s is a link to %s, outside of the project", atHome(env, out.Link), target)
	}
	return "", err
}

// projectFolder returns the project's folder: --project, or the working directory, or "" if
// that is unknown.
func projectFolder(env console.Env, project string) string {
	if project != "" {
		return absolute(env, project)
	}
	return env.Dir
}

// projectRoot returns the root of the project's repository, or the folder itself outside of
// a repository.
func projectRoot(env console.Env, project string) string {
	at := projectFolder(env, project)
	if at == "" {
		return ""
	}
	chain := dir.Repository(at)
	return chain[len(chain)-1]
}

// atHome returns a path with ~ for the home folder.
func atHome(env console.Env, path string) string {
	return displayPath(path, []string{env.Dir}, env.Home)
}

func absolute(env console.Env, d string) string {
	if !filepath.IsAbs(d) {
		d = filepath.Join(env.Dir, d)
	}
	return filepath.Clean(d)
}

// displayPath writes a folder as people do: relative to the project or with ~, whichever is
// nearer. The root of the file system, in which graphical clients start servers, does not
// count: everything is below it.
func displayPath(d string, projects []string, home string) string {
	near := ""
	for _, base := range append(slices.Clone(projects), home) {
		if _, ok := below(d, base); ok && len(base) > len(near) && base != filepath.Dir(base) {
			near = base
		}
	}
	rel, ok := below(d, near)
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

func below(d, base string) (string, bool) {
	if base == "" {
		return "", false
	}
	rel, err := filepath.Rel(base, d)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// shellWord writes a path so that a shell reads it as one word, byte for byte.
func shellWord(path string) string {
	home, rest := "", path
	if strings.HasPrefix(path, "~/") {
		home, rest = "~/", path[2:]
	}
	switch {
	case !utf8.ValidString(rest) || console.Clean(rest) != rest || display.OneLine(rest) != rest:
		var b strings.Builder
		for _, c := range []byte(rest) {
			if c < ' ' || c >= 0x7f || c == '\'' || c == '\\' {
				fmt.Fprintf(&b, "\\%03o", c)
			} else {
				b.WriteByte(c)
			}
		}
		return home + "$'" + b.String() + "'"
	case strings.ContainsAny(rest, " \t'\"\\$`;&|<>()*?[]{}#!~"):
		return home + "'" + strings.ReplaceAll(rest, "'", `'\''`) + "'"
	}
	return path
}
