package words

import (
	"slices"
	"strings"
)

// maxPath limits the bytes of a path that Credential judges. People do not write longer paths.
const maxPath = 200

// Credential reports whether a text is the path of a file with credentials, such as
// ~/.ssh/id_ed25519.
func Credential(text string) bool {
	if len(text) < 4 || len(text) > maxPath || !strings.ContainsAny(text, "./") {
		return false
	}
	if IsDotEnv(text) {
		return true
	}
	low := strings.ToLower(strings.ReplaceAll(text, "\\", "/"))
	if slices.Contains(system, low) {
		return true
	}
	home, ok := belowHome(low)
	if !ok || slices.ContainsFunc(public, func(p string) bool { return strings.HasSuffix(home, p) }) {
		return false
	}
	return slices.ContainsFunc(credentials, func(p string) bool { return strings.HasPrefix(home, p) || home+"/" == p })
}

// HoldsCredentials reports whether a path is a folder that contains credentials, such as ~/.aws.
func HoldsCredentials(path string) bool {
	home, ok := belowHome(strings.ToLower(path))
	if home = strings.Trim(home, "/"); !ok || home == "" || slices.Contains(commonFolders, home) {
		return false
	}
	return slices.ContainsFunc(credentials, func(p string) bool { return strings.HasPrefix(p, home+"/") })
}

var commonFolders = []string{".config", ".local", ".local/share", "library", "library/application support"}

// belowHome returns the part of a path below a person's home folder.
func belowHome(path string) (string, bool) {
	for _, home := range [...]string{"~/", "$home/", "${home}/", "$env:userprofile/", "%userprofile%/", "/root/"} {
		if rest, ok := strings.CutPrefix(path, home); ok {
			return rest, true
		}
	}
	for _, homes := range [...]string{"/home/", "/users/", "c:/users/", "~"} {
		if rest, ok := strings.CutPrefix(path, homes); ok {
			_, rest, ok = strings.Cut(rest, "/")
			return rest, ok
		}
	}
	return "", false
}

// IsDotEnv reports whether a path is a .env file, which holds the variables of a project (dotenv).
func IsDotEnv(path string) bool {
	switch path[strings.LastIndexByte(path, '/')+1:] {
	case ".env", ".env.local", ".env.production", ".env.development":
		return true
	}
	return false
}

// Homely returns a path with ~ for the home folder.
func Homely(path string) string {
	if strings.Contains(path, "//") && !strings.Contains(path, ":") {
		path = strings.ReplaceAll(path, "//", "/") // joined parts leave double slashes
	}
	for _, home := range [...]string{"$HOME/", "${HOME}/"} {
		if rest, ok := strings.CutPrefix(path, home); ok {
			return "~/" + rest
		}
	}
	return path
}

// Outside reports whether a text is a path outside the skill: below the home folder, in a folder of
// the system, or two folders up. Other texts with a leading slash do not count. They are pages of a
// site, patterns, or commands of an agent.
func Outside(path string) bool {
	switch {
	case strings.Contains(path, "…") || strings.Contains(path, "..."):
		return false
	case strings.HasPrefix(path, "~/") || strings.HasPrefix(path, "../../"):
		return len(path) > len("~/")
	}
	top, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return strings.HasPrefix(path, "/") && systemFolders.Has(top)
}

// Starts reports whether the system or a shell runs the content of a path automatically.
func Starts(path string) bool { return match(path, starting) }

// IsOfAgents reports whether agents read a path as settings or instructions. Files below /tmp do
// not count: they are templates or copies for tests.
func IsOfAgents(path string) bool { return match(path, agents) && !strings.HasPrefix(path, "/tmp/") }

// match reports whether a path is in a table. A row that ends with / covers everything below it.
func match(path string, table []string) bool {
	low := "/" + strings.ToLower(path)
	return slices.ContainsFunc(table, func(p string) bool {
		return strings.HasSuffix(low, p) || strings.HasSuffix(p, "/") && strings.Contains(low, p) ||
			strings.HasPrefix(p, "/etc/") && strings.HasPrefix(low, "/"+p) ||
			strings.HasSuffix(p, "rules") && strings.Contains(low, p+"/")
	})
}
