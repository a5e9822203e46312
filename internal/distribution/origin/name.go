package origin

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Limits of an installed skill, and of the names in it.
const (
	MaxFiles = 4096
	MaxSize  = 64 << 20 // of all files of a skill together, in bytes
	MaxPath  = 1024     // of a path, in bytes; systems allow 4,096 for it and the folder above it together
	MaxName  = 255      // of one name in a path, in bytes: the limit of the file systems in use
)

// ErrName is the category of the errors of [CheckPath] and [Paths.Add].
var ErrName = errors.New("a name that knack does not install")

type nameError struct{ message string }

func (e *nameError) Error() string        { return e.message }
func (e *nameError) Is(target error) bool { return target == ErrName }

func badName(path, why string) error {
	return &nameError{display.Quote(path) + " " + why}
}

// CheckPath returns an error if a file of a skill cannot have this path. A plain path is relative,
// slash-separated and without empty parts, "." and "..". It has no backslash and no control
// character, and is UTF-8. On Windows it has no reserved name either. The error is an [ErrName].
func CheckPath(path string) error { return checkPath(path, runtime.GOOS == "windows") }

func checkPath(path string, windows bool) error {
	switch {
	case path == "":
		return badName(path, "is an empty path")
	case len(path) > MaxPath:
		return badName(path, fmt.Sprintf("is a path of more than %s bytes", display.Thousands(MaxPath)))
	case path[0] == '/':
		return badName(path, "is an absolute path")
	case !utf8.ValidString(path):
		return badName(path, "is not UTF-8")
	case strings.ContainsRune(path, '\\'):
		return badName(path, "contains a backslash")
	case strings.ContainsFunc(path, unicode.IsControl):
		return badName(path, "contains a control character")
	}
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == "..":
			return badName(path, "leads out of the folder")
		case name == "" || name == ".":
			return badName(path, "is not a plain path")
		case len(name) > MaxName:
			return badName(path, fmt.Sprintf("contains a name of more than %d bytes", MaxName))
		case windows && reserved(name):
			return badName(path, "contains a name that Windows does not allow")
		}
	}
	return nil
}

// reserved reports whether Windows cannot have a file of this name, or would rename it.
func reserved(name string) bool {
	if strings.ContainsAny(name, `<>:"|?*`) || strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") {
		return true
	}
	stem, _, _ := strings.Cut(name, ".")
	switch stem = strings.ToUpper(strings.TrimRight(stem, " ")); stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	for _, device := range []string{"COM", "LPT"} {
		if number, ok := strings.CutPrefix(stem, device); ok && (len(number) == 1 && number >= "1" && number <= "9" || number == "¹" || number == "²" || number == "³") {
			return true
		}
	}
	return false
}

// Paths is a set of paths of files that are installed together. The zero value is empty.
type Paths struct {
	names map[string]pathEntry // by folded path; folders too
}

type pathEntry struct {
	spelling string
	file     bool
}

// Entries returns the number of files and folders in the set.
func (p *Paths) Entries() int { return len(p.names) }

// Add adds the path of a file. It refuses a path that [CheckPath] refuses, a path already in the
// set, and a path that is a folder of another path. It also refuses a path that a file system may
// confuse with another path, since they differ only in case or in Unicode's normal form. The error
// is an [ErrName].
func (p *Paths) Add(path string) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	if p.names == nil {
		p.names = map[string]pathEntry{}
	}
	for i := 0; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		at := pathEntry{path[:i], i == len(path)}
		key := skill.Fold(at.spelling)
		was, taken := p.names[key]
		switch {
		case !taken:
			p.names[key] = at
		case was.spelling != at.spelling:
			return badName(path, "differs from "+display.Quote(was.spelling)+" only in case or in Unicode's normal form")
		case was.file && at.file:
			return badName(path, "is there twice")
		case was.file || at.file:
			return badName(at.spelling, "is both a file and a folder")
		}
	}
	return nil
}
