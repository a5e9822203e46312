package clientconfig

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Env is the part of a user's environment that determines the clients' files.
type Env struct {
	OS      string              // as runtime.GOOS says it
	Home    string              // the user's home folder
	Project string              // the root of the project
	AppData string              // %APPDATA% on Windows, else empty
	Path    string              // the folders of programs, as PATH has them
	Getenv  func(string) string // returns variables that move a client's folder; may be nil
}

func (p Env) env(name string) string {
	if p.Getenv == nil {
		return ""
	}
	return p.Getenv(name)
}

// Scope says for whom an entry is.
type Scope string

// The scopes of an entry.
const (
	User    Scope = "user"    // for one user, in all projects
	Project Scope = "project" // for all users, in one project
	Local   Scope = "local"   // for one user, in one project
)

// location is a file in which a client looks for entries, with the path of the servers if it
// differs from the client's usual one.
type location struct {
	scope Scope
	file  func(Env) string
	keys  func(Env) []string
	// preferred is set for the file to create if a scope has none.
	preferred bool
	// borrowed is set for a file that belongs to other clients: this client reads it too, and
	// knack adds no entry to it for this client.
	borrowed bool
}

func user(file func(Env) string) location { return location{scope: User, file: file} }

func project(rel string) location { return location{scope: Project, file: atProject(rel)} }

func preferred(at location) location {
	at.preferred = true
	return at
}

// nameList is a list of servers' names with which a client turns servers off, or the only
// ones on.
type nameList struct {
	location
	key  string
	only bool // servers that are not in it are off
}

func borrowed(at location) location {
	at.borrowed = true
	return at
}

func atHome(rel string) func(Env) string {
	return func(p Env) string { return below(p.Home, rel) }
}

func atProject(rel string) func(Env) string {
	return func(p Env) string { return below(p.Project, rel) }
}

// moved is a file at home, or in the folder that a variable names.
func moved(variable, inside, rel string) func(Env) string {
	return func(p Env) string {
		if dir := p.env(variable); dir != "" {
			return below(dir, inside)
		}
		return below(p.Home, rel)
	}
}

// xdg is a file in the user's configuration folder, on every system.
func xdg(rel string) func(Env) string { return moved("XDG_CONFIG_HOME", rel, ".config/"+rel) }

// config is a file in the user's configuration folder as Linux, macOS and Windows have it.
func config(unix func(Env) string, mac, windows string) func(Env) string {
	return func(p Env) string {
		switch {
		case p.OS == "windows":
			return below(p.AppData, windows)
		case p.OS == "darwin" && mac != "":
			return below(p.Home, mac)
		}
		return unix(p)
	}
}

func below(dir, rel string) string {
	if dir == "" {
		return ""
	}
	return strings.TrimRight(strings.ReplaceAll(dir, `\`, "/"), "/") + "/" + rel
}

// base is the folder of a file.
func base(file func(Env) string) func(Env) string {
	return func(p Env) string {
		if at := file(p); at != "" {
			return path.Dir(at)
		}
		return ""
	}
}

// Installed reports whether the client is used on this machine: its program is in a folder of
// PATH, or its own folder holds more than skills, which another tool may have put there.
func (c Client) Installed(p Env) bool {
	return c.onPath(p) || c.folder != nil && inUse(filepath.FromSlash(c.folder(p)))
}

func inUse(folder string) bool {
	if folder == "" {
		return false
	}
	entries, _ := os.ReadDir(folder)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !slices.Contains([]string{"skills", "skill", ".DS_Store"}, e.Name())
	})
}

func (c Client) onPath(p Env) bool { return c.Program != "" && p.Program(c.Program) != "" }

// Program returns the path of a program in the folders of PATH, "" if none has it.
func (p Env) Program(name string) string {
	names := []string{name}
	if p.OS == "windows" && filepath.Ext(name) == "" { // npm makes a .cmd, an installer an .exe
		names = []string{name + ".exe", name + ".cmd"}
	}
	for _, dir := range filepath.SplitList(p.Path) {
		if !filepath.IsAbs(dir) {
			continue // a project's folder could say what it likes
		}
		for _, name := range names {
			if at := filepath.Join(dir, name); p.isProgram(at) {
				return at
			}
		}
	}
	return ""
}

// isProgram reports whether there is a program at a path.
func (p Env) isProgram(at string) bool {
	info, err := os.Stat(at)
	return err == nil && info.Mode().IsRegular() && (p.OS == "windows" || info.Mode().Perm()&0o111 != 0)
}

// CanStart reports whether a client can start this command: a path, or a name on PATH.
func (p Env) CanStart(command string) bool {
	if filepath.Base(command) == command {
		return p.Program(command) != ""
	}
	return p.isProgram(command)
}
