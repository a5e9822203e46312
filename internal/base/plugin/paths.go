package plugin

import (
	"path"
	"strings"
)

// Clean returns the clean form of a slash-separated path below a folder. It returns false for a
// path that leads out of the folder: an absolute path, a drive, or too many "..". It also refuses a
// path with a backslash, which is a separator on some systems. "." is the folder itself.
func Clean(p string) (string, bool) {
	switch {
	case p == "" || strings.ContainsAny(p, "\\\x00"), p[0] == '/', p[0] == '~', len(p) > 1 && p[1] == ':':
		return "", false
	}
	p = path.Clean(p)
	return p, p != ".." && !strings.HasPrefix(p, "../")
}

// isName reports whether a text is a valid name by §5.5.
func isName(name string) bool {
	if name == "" || len(name) > 64 || strings.Contains(name, "--") || strings.Contains(name, "..") {
		return false
	}
	for i := range len(name) {
		c := name[i]
		inner := c == '-' || c == '.'
		if !inner && (c < 'a' || c > 'z') && (c < '0' || c > '9') || inner && (i == 0 || i == len(name)-1) {
			return false
		}
	}
	return true
}

// isFolderName reports whether a text can be the name of one folder. Clients make folders with the
// names of plugins and marketplaces, and some of these names have capitals and spaces.
func isFolderName(name string) bool {
	for _, c := range name {
		if c < ' ' || c == 0x7f || strings.ContainsRune(`/\:*?"<>|`, c) {
			return false
		}
	}
	return strings.Trim(name, ". ") == name && name != "" && len(name) <= 255
}

// nameFix proposes a name that is valid by §5.5.
func nameFix(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' {
			c = '-'
		}
		if last := b.String(); (c == '-' || c == '.') && (last == "" || strings.HasSuffix(last, "-") || strings.HasSuffix(last, ".")) {
			continue
		}
		b.WriteRune(c)
		if b.Len() == 64 {
			break
		}
	}
	if fixed := strings.Trim(b.String(), "-."); isName(fixed) {
		return `write "` + fixed + `"`
	}
	return "use 1 to 64 of a-z, 0-9, - and ., with a letter or digit at both ends"
}
