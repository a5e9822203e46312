package clientconfig

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/realpath"
)

// Env is the part of a user's environment that determines the clients' files.
type Env struct {
	OS      string              // in the form of runtime.GOOS
	Home    string              // the user's home folder
	Project string              // the root of the project
	AppData string              // %APPDATA% on Windows, else ""
	Path    string              // the value of PATH
	Getenv  func(string) string // reads the environment; may be nil
}

func (p Env) homes() agents.Homes { return agents.Homes{Home: p.Home, Getenv: p.Getenv} }

func (p Env) env(name string) string {
	if p.Getenv == nil {
		return ""
	}
	return p.Getenv(name)
}

// Scope is where an entry applies: for which users, and in which projects.
type Scope string

// The scopes of an entry.
const (
	User    Scope = "user"    // for one user, in all projects
	Project Scope = "project" // for all users, in one project
	Local   Scope = "local"   // for one user, in one project
)

// location is a file in which a client looks for entries. keys is set if this file has the servers
// at a different path of keys than the client's other files.
type location struct {
	scope Scope
	file  func(Env) string
	keys  func(Env) []string
	// preferred is set for the file to create if no file of the scope exists.
	preferred bool
	// borrowed is set for a file of other clients that this client also reads. knack adds no entry
	// for this client there.
	borrowed bool
}

func user(file func(Env) string) location { return location{scope: User, file: file} }

func project(rel string) location { return location{scope: Project, file: atProject(rel)} }

func preferred(at location) location {
	at.preferred = true
	return at
}

// nameList is a list of server names in a client's settings. The listed servers are off or, if only
// is set, all other servers are off.
type nameList struct {
	location
	key  string
	only bool // servers not in the list are off
}

func borrowed(at location) location {
	at.borrowed = true
	return at
}

// pathOf returns the path of a place, in the notation of package agents.
func pathOf(place string) func(Env) string {
	return func(p Env) string { return p.homes().Path(place) }
}

func atProject(rel string) func(Env) string {
	return func(p Env) string { return below(p.Project, rel) }
}

// config returns the path of a file in the system's folder for configuration.
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

// base returns the folder of a file.
func base(file func(Env) string) func(Env) string {
	return func(p Env) string {
		if at := file(p); at != "" {
			return path.Dir(at)
		}
		return ""
	}
}

// Installed reports whether the client is used on this machine. Each of these is enough: its
// program is in a folder of PATH, it has settings, or its own folder contains more than backups and
// skills. Other tools may have written backups and skills.
func (c Client) Installed(p Env) bool { return c.onPath(p) || c.inUse(p) }

// BareFolder returns the client's own folder if it contains only skills and backups, and the client
// has no settings. Otherwise it returns "".
func (c Client) BareFolder(p Env) string {
	folder := c.ownFolder(p)
	there := folder != "" && realpath.Ask(folder, false, func() bool { info, err := os.Stat(folder); return err == nil && info.IsDir() })
	if !there || c.inUse(p) {
		return ""
	}
	return folder
}

func (c Client) ownFolder(p Env) string {
	if c.folder == nil {
		return ""
	}
	return filepath.FromSlash(c.folder(p))
}

// inUse reports whether the client left traces in its own folder or in a file of the user.
func (c Client) inUse(p Env) bool {
	if folder := c.ownFolder(p); folder != "" {
		entries := realpath.Ask(folder, nil, func() []fs.DirEntry { entries, _ := os.ReadDir(folder); return entries })
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			return !slices.Contains([]string{"skills", "skill", ".DS_Store"}, e.Name()) && !isBackup(e.Name())
		}) {
			return true
		}
	}
	return slices.ContainsFunc(c.locations, func(at location) bool { return at.scope == User && c.hasSettings(p, at) })
}

// isBackup reports whether knack gives such a file name to backups.
func isBackup(name string) bool {
	_, number, ok := strings.Cut(name, ".bak")
	return ok && strings.Trim(number, "0123456789") == ""
}

// hasSettings reports whether a file contains more than knack's entry and the mappings around the
// entry.
func (c Client) hasSettings(p Env, at location) bool {
	f := candidate{location: at, at: filepath.FromSlash(at.file(p))}
	if f.at == "" {
		return false
	}
	if c.read(p, &f); f.real == "" {
		return false
	}
	all, err := c.tree(f.data)
	return f.err != nil || err != nil || len(pruned(all, append(c.keysAt(p, at), Name))) > 0
}

func (c Client) onPath(p Env) bool { return c.Program != "" && p.Program(c.Program) != "" }

// Program returns the path of a program in the folders of PATH, or "".
func (p Env) Program(name string) string {
	names := []string{name}
	if p.OS == "windows" && filepath.Ext(name) == "" { // npm creates a .cmd, an installer an .exe
		names = []string{name + ".exe", name + ".cmd"}
	}
	for _, dir := range filepath.SplitList(p.Path) {
		if !filepath.IsAbs(dir) {
			continue // a relative folder could be a project's, which may contain any program
		}
		for _, name := range names {
			if at := filepath.Join(dir, name); p.isProgram(at) {
				return at
			}
		}
	}
	return ""
}

// isProgram reports whether there is an executable file at a path.
func (p Env) isProgram(at string) bool {
	info, err := os.Stat(at)
	return err == nil && info.Mode().IsRegular() && (p.OS == "windows" || info.Mode().Perm()&0o111 != 0)
}

// CanStart reports whether a client can start this command, which is a path or a name on PATH.
func (p Env) CanStart(command string) bool {
	if filepath.Base(command) == command {
		return p.Program(command) != ""
	}
	return p.isProgram(command)
}
