package clientconfig

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// npmPackage is the name of knack's npm package.
const npmPackage = "@knack-dev/knack"

// NewServer returns a server whose command starts the knack at the path program. npm empties its
// cache, so for a program there the command is npx, which starts the same version. For a program of
// Homebrew, the command is a link that stays when the version changes.
func NewServer(os, program, version string) Server {
	if prefix, _, ok := strings.Cut(program, "/Cellar/knack/"); ok {
		program = prefix + "/opt/knack/bin/knack"
	}
	s := Server{Command: program, Args: []string{"serve"}}
	if !strings.Contains(filepath.ToSlash(program), "/node_modules/"+npmPackage+"-") {
		return s
	}
	words := []string{"npx", "-y", npmPackage + "@" + strings.TrimPrefix(version, "v"), "serve"}
	if os == "windows" { // npx is a batch file, which only a shell can start
		words = slices.Insert(words, 0, "cmd", "/c")
	}
	return Server{Command: words[0], Args: words[1:]}
}

// split splits a command line into the words that name the program and the arguments. The program
// is the first word, or the words with which npx starts knack's package.
func split(words []string) (program, args []string) {
	at := 0
	next := func(names ...string) bool {
		if at < len(words) && slices.Contains(names, strings.ToLower(words[at])) {
			at++
			return true
		}
		return false
	}
	if next("cmd", "cmd.exe") && !next("/c") || !next("npx", "npx.cmd") {
		at = 0
	} else {
		next("-y", "--yes")
		if at < len(words) && (words[at] == npmPackage || strings.HasPrefix(words[at], npmPackage+"@")) {
			return words[:at+1], words[at+1:]
		}
	}
	at = min(1, len(words))
	return words[:at], words[at:]
}

// Program returns the words that start knack, without its arguments.
func (s Server) Program() []string {
	program, _ := split(append([]string{s.Command}, s.Args...))
	return program
}

// startedBy returns the server with a different program and the same arguments.
func (s Server) startedBy(program []string) Server {
	_, args := split(append([]string{s.Command}, s.Args...))
	s.Command, s.Args = program[0], slices.Concat(program[1:], args)
	return s
}

// startsKnack reports whether a command line starts knack. It does if its program is called knack
// or is knack's npm package. A program with the name of the new entry's program counts too.
func startsKnack(words []string, s Server) bool {
	if len(words) == 0 {
		return false
	}
	program, _ := split(words)
	name := func(at string) string {
		base := strings.ToLower(path.Base(strings.ReplaceAll(at, `\`, "/")))
		return strings.TrimSuffix(base, ".exe")
	}
	same := s.Command != "" && len(s.Program()) == 1 && name(words[0]) == name(s.Command)
	return len(program) > 1 || name(words[0]) == Name || same
}
