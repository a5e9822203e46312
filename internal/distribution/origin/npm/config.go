package npm

import (
	"net/url"
	"strings"
)

// public is the registry of npm without settings.
const public = "https://registry.npmjs.org"

// Config has the settings of npm that determine where packages come from.
type Config struct {
	// Registry is the value of npm_config_registry, or "".
	Registry string
	lines    [][2]string // the keys and values of the user's .npmrc
}

// ParseConfig reads a user's .npmrc. env returns the variables that it may name as ${NAME}. A
// project's .npmrc is not read: a clone could send the user's tokens elsewhere.
func ParseConfig(data []byte, env func(name string) string) (c Config) {
	for line := range strings.Lines(string(data)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(key, "#") || strings.HasPrefix(key, ";") {
			continue
		}
		rest, filled := strings.Trim(strings.TrimSpace(value), `"'`), ""
		for {
			before, from, ok := strings.Cut(rest, "${")
			name, after, closed := strings.Cut(from, "}")
			if !ok || !closed {
				break
			}
			filled, rest = filled+before+env(strings.TrimSuffix(name, "?")), after
		}
		c.lines = append(c.lines, [2]string{strings.TrimSpace(key), filled + rest})
	}
	return c
}

// value returns the last value of a key, or "".
func (c Config) value(key string) (value string) {
	for _, line := range c.lines {
		if line[0] == key {
			value = line[1]
		}
	}
	return value
}

// registry returns the address of the registry that has a package.
func (c Config) registry(name string) string {
	scope, _, scoped := strings.Cut(name, "/")
	if scoped {
		if at := c.value(scope + ":registry"); at != "" {
			return at
		}
	}
	for _, at := range []string{c.Registry, c.value("registry")} {
		if at != "" {
			return at
		}
	}
	return public
}

// token returns the token for a registry. The user's file has tokens by address. The longest
// address that is a prefix of the registry's address counts.
func (c Config) token(at *url.URL) (token string) {
	longest := 0
	for _, line := range c.lines {
		address, ok := strings.CutSuffix(line[0], ":_authToken")
		if full := "//" + at.Host + at.Path; ok && strings.HasPrefix(address, "//") && len(address) > longest && strings.HasPrefix(full, strings.TrimRight(address, "/")+"/") {
			longest, token = len(address), line[1]
		}
	}
	return token
}
