package cli

import "github.com/knack-dev/knack/internal/base/console"

// Short names for the path functions of package console.
func atHome(env console.Env, path string) string   { return env.Shown(path) }
func absolute(env console.Env, path string) string { return env.Absolute(path) }
func displayPath(path string, projects []string, home string) string {
	return console.DisplayPath(path, projects, home)
}
func shellWord(path string) string { return console.ShellWord(path) }
