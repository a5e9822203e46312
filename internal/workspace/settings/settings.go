// Package settings finds and reads the files knack.yaml of the user and of a project. A project's
// file is as trustworthy as the project. The package also derives the roots from these files.
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// File is a parsed knack.yaml.
type File struct {
	Path     string // absolute
	Shown    string
	Data     []byte
	Config   config.Config
	Problems []skill.Problem
	Kind     config.Files // how it was found
}

// Finder finds and reads the configuration files of one command, each once.
type Finder struct {
	env   *console.Env
	given string // --config: this file and no other
	read  map[string]*File
	// Used lists the files that were read.
	Used []*File
}

// New makes a finder. given is the file of --config, or "".
func New(env *console.Env, given string) *Finder {
	return &Finder{env: env, given: given, read: map[string]*File{}}
}

// UserFile returns the path of the user's file, or "" if the system has no place for it.
func (s *Finder) UserFile() string {
	if at := s.env.Variable("XDG_CONFIG_HOME"); filepath.IsAbs(at) {
		return filepath.Join(at, "knack", config.Name)
	}
	switch appData := s.env.Variable("APPDATA"); {
	case runtime.GOOS == "windows" && appData != "":
		return filepath.Join(appData, "knack", config.Name)
	case s.env.Home == "":
		return ""
	}
	return filepath.Join(s.env.Home, ".config", "knack", config.Name)
}

// Files returns the files in effect for a folder, the one with the highest precedence
// first.
func (s *Finder) Files(folder string) ([]*File, error) {
	if s.given != "" {
		kind := config.Named
		if s.projectFile(folder) == s.env.Absolute(s.given) {
			kind |= config.OfProject
		}
		f, err := s.load(s.env.Absolute(s.given), s.given, ReadUserFile, kind)
		return []*File{f}, err
	}
	var out []*File
	if f, err := s.project(folder); err != nil {
		return nil, err
	} else if f != nil {
		out = append(out, f)
	}
	user := s.UserFile()
	if user == "" {
		return out, nil
	}
	f, err := s.load(user, s.env.Shown(user), ReadUserFile, config.OfUser)
	if isMissing(err) {
		return out, nil
	}
	return append(out, f), err
}

// project returns the file of the project that a folder is in, or nil. If it is also the file of
// --config, all of its sections apply.
func (s *Finder) project(folder string) (*File, error) {
	switch file := s.projectFile(folder); {
	case file == "":
		return nil, nil
	case s.given != "" && s.env.Absolute(s.given) == file:
		return s.load(file, s.given, ReadUserFile, config.OfProject|config.Named)
	default:
		return s.load(file, s.env.Shown(file), readContained, config.OfProject)
	}
}

// projectFile returns the path of the file of the project that a folder is in, or "".
func (s *Finder) projectFile(folder string) string {
	for _, at := range dir.Project(folder, s.env.Home) {
		file := filepath.Join(at, config.Name)
		if _, err := os.Lstat(file); err == nil && file != s.UserFile() {
			return file
		}
	}
	return ""
}

// otherName is the name that people give to knack.yaml by mistake.
const otherName = "knack.yml"

// Unread returns a warning, with a fix, for each file that looks like settings for a folder but is
// not read. With --config, the user's own files are not reported.
func (s *Finder) Unread(folder string) (warnings []string) {
	exists := func(file string) bool {
		if realpath.Silent(file) {
			return false
		}
		info, err := os.Lstat(file)
		return err == nil && !info.IsDir()
	}
	warn := func(file, read string) {
		fix := "move it there"
		switch {
		case file == read || file == s.UserFile() || s.given != "" && file == s.env.Absolute(s.given) || !exists(file):
			return
		case exists(read):
			fix = "move the settings you need there, and delete it"
		}
		warnings = append(warnings, fmt.Sprintf("%s is not read, as settings are in %s: %s", s.env.Shown(file), s.env.Shown(read), fix))
	}
	for _, at := range dir.Project(folder, s.env.Home) {
		warn(filepath.Join(at, otherName), filepath.Join(at, config.Name))
	}
	if user := s.UserFile(); user != "" && s.given == "" {
		warn(filepath.Join(filepath.Dir(user), otherName), user)
		if s.env.Home != "" {
			warn(filepath.Join(s.env.Home, otherName), user)
			warn(filepath.Join(s.env.Home, config.Name), user)
		}
	}
	return warnings
}

// Beside returns the first fault of the file of the project that contains a folder, or nil. Without
// this error, an operator could believe that faulty settings are in effect.
func (s *Finder) Beside(folder string) error {
	f, err := s.project(folder)
	if err == nil {
		err = f.Refused()
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		return &Error{e.Err, e.Hint + "; to serve by this file or another one, name it with --config", e.Usage}
	}
	return err
}

// Trusted returns the file of --config, or the user's file, or nil. It never reads the file of a
// project, which may be a clone.
func (s *Finder) Trusted() (*File, error) {
	var f *File
	var err error
	if s.given == "" {
		f, err = s.userFile()
	} else {
		f, err = s.load(s.env.Absolute(s.given), s.given, ReadUserFile, config.Named)
	}
	if err == nil {
		err = f.Refused()
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// isMissing reports whether an error means that a file, or a folder above it, does not exist.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// userFile returns the user's own file, perhaps with problems, or nil.
func (s *Finder) userFile() (*File, error) {
	at := s.UserFile()
	if at == "" {
		return nil, nil
	}
	f, err := s.load(at, s.env.Shown(at), ReadUserFile, config.Named)
	if isMissing(err) {
		return nil, nil
	}
	return f, err
}

// WithSources returns the user's own file if it names sources, or nil. If such a file is faulty, it
// passes the first fault to warn, and returns nil.
func (s *Finder) WithSources(warn func(text string)) *File {
	f, err := s.userFile()
	if err == nil && f != nil && config.Names(f.Data, "sources") {
		err = f.Refused()
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		warn("the sources of your own file are not followed: " + e.Error() + " (" + e.Hint + ")")
		return nil
	}
	if f == nil || len(f.Config.Sources) == 0 {
		return nil
	}
	return f
}

// Check returns the settings of check for a folder. A file with a problem is a usage error, since a
// partial configuration is not usable.
func (s *Finder) Check(folder string) (config.Check, error) {
	files, err := s.Files(folder)
	if err != nil {
		return config.Check{}, err
	}
	var c config.Check
	for _, f := range files {
		if err := f.Refused(); err != nil {
			return c, err
		}
		c = c.WithDefaults(f.Config.Check)
	}
	return c, nil
}

func (s *Finder) load(file, label string, read func(string) ([]byte, error), kind config.Files) (*File, error) {
	if f := s.read[file]; f != nil {
		return f, nil
	}
	data, err := read(file)
	if err != nil {
		return nil, &Error{fmt.Errorf("%s cannot be read: %w", label, readError{err}), HintOf(err, "make it a text file that knack can read"), false}
	}
	f := &File{Path: file, Shown: filepath.ToSlash(label), Data: data, Kind: kind}
	if file == s.UserFile() {
		f.Kind = config.OfUser
	}
	f.Config, f.Problems = config.Parse(data)
	f.Problems = append(f.Problems, problemsOf(f.Config.Project)...)
	f.Problems = append(f.Problems, problemsOfRoots(f.Config)...)
	if kind&config.OfProject != 0 {
		f.Problems = append(f.Problems, config.Misplaced(data, kind)...)
	}
	s.read[file] = f
	s.Used = append(s.Used, f)
	return f, nil
}

// Error is an error about settings, with a hint.
type Error struct {
	Err   error
	Hint  string
	Usage bool // the settings are wrong; if false, a file or folder that they name cannot be used
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// UsageError returns an error about how settings or flags are written.
func UsageError(hint, format string, args ...any) error {
	return &Error{fmt.Errorf(format, args...), hint, true}
}

// RunError returns an error about the state of something that settings or flags name.
func RunError(hint, format string, args ...any) error {
	return &Error{fmt.Errorf(format, args...), hint, false}
}

// readError is an error whose text is the reason why a file cannot be read. It unwraps to the
// original error.
type readError struct{ err error }

func (e readError) Error() string { return ReasonOf(e.err) }
func (e readError) Unwrap() error { return e.err }

// readContained reads a project's file like a skill's file, without following links out of
// the folder, since the project may be a clone.
func readContained(file string) ([]byte, error) {
	fsys, err := dir.FS(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	data, _, err := skill.ReadFile(fsys, filepath.Base(file), config.MaxSize)
	return data, err
}

// ReadUserFile is [ReadNamed] for a file of at most [config.MaxSize].
func ReadUserFile(file string) ([]byte, error) { return ReadNamed(file, config.MaxSize) }

// ReadNamed reads a file that the user named, through links, and at most one byte more
// than most. It refuses a pipe or a device, which could block the process for
// ever. The null device is an empty file.
func ReadNamed(file string, most int64) ([]byte, error) {
	if realpath.Silent(file) {
		return nil, &fs.PathError{Op: "open", Path: file, Err: realpath.ErrSilent}
	}
	info, err := os.Stat(file)
	if null, nullErr := os.Stat(os.DevNull); err == nil && nullErr == nil && os.SameFile(info, null) {
		return nil, nil
	}
	data, err := edit.Read(file, most)
	if errors.Is(err, edit.ErrIrregular) {
		err = &fs.PathError{Op: "open", Path: file, Err: skill.ErrNotRegular}
	}
	return data, err
}

// Dir returns the folder of the file.
func (f *File) Dir() string { return filepath.Dir(f.Path) }

// Resolve returns the absolute form of a path that the file names. A relative path starts at the
// file's folder, and an empty path stays empty.
func (f *File) Resolve(path string) string {
	if path = filepath.FromSlash(path); path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(f.Dir(), path)
}

// Refused returns the first problem of the file as an error, or nil. Nothing in a file with
// problems is used. A nil file has no problems.
func (f *File) Refused() error {
	if f == nil || len(f.Problems) == 0 {
		return nil
	}
	return refusedFor(f, f.Problems)
}

// Refusal returns one line with the reason why the file of [Finder.Trusted] is refused, the fix,
// and the keys that still apply. It is "" if the file is not refused.
func (s *Finder) Refusal() string {
	_, err := s.Trusted()
	if err == nil {
		return ""
	}
	effect := "nothing in the file is used"
	if mode := s.LockMode(nil); mode != config.LockWarn {
		effect += " except lock, as " + mode
	}
	if _, failure := s.Admission(nil, "", slog.New(slog.DiscardHandler), nil); failure != nil {
		effect = "no skill is served until it is corrected"
	}
	return refusal(err, effect)
}

// refusal formats the error of a refused file in one line, with the fix and the effect.
func refusal(err error, effect string) string {
	text := err.Error()
	if e, ok := errors.AsType[*Error](err); ok && e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text + "; " + effect
}

// refusedFor returns the first of several problems as an error, with its position.
func refusedFor(f *File, problems []skill.Problem) error {
	p := problems[0]
	hint := p.Fix
	if n := len(problems) - 1; n > 0 {
		hint += fmt.Sprintf(" (%s; knack config check shows all)", display.Count(n, "further problem"))
	}
	return &Error{fmt.Errorf("%s:%s: %s", f.Shown, p.Position, p.Message), hint, true}
}

// HintOf returns the hint for an unreadable file that the user named. other is the hint for an
// error without a hint of its own.
func HintOf(err error, other string) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "check the path"
	case errors.Is(err, fs.ErrPermission):
		return "let the user who runs knack read the file"
	case errors.Is(err, skill.ErrSilent):
		return "see whether the disk answers"
	}
	return other
}

// ReasonOf returns the reason in words for an error about a file that the user named.
func ReasonOf(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "there is no such file"
	}
	return skill.Reason(err)
}
