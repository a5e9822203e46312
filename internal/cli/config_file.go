package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/knack-dev/knack/config"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// configFile is a parsed knack.yaml.
type configFile struct {
	path     string // absolute
	shown    string
	data     []byte
	config   config.Config
	problems []skill.Problem
}

// settings finds and reads the configuration files of one command, each once.
type settings struct {
	env   *console.Env
	given string // --config: this file and no other
	read  map[string]*configFile
	used  []*configFile
}

func newSettings(env *console.Env, given string) *settings {
	return &settings{env: env, given: given, read: map[string]*configFile{}}
}

// userFile returns the path of the user's file, or "" if the system has no place for it.
func (s *settings) userFile() string {
	if at := s.env.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(at) {
		return filepath.Join(at, "knack", config.Name)
	}
	switch appData := s.env.Getenv("APPDATA"); {
	case runtime.GOOS == "windows" && appData != "":
		return filepath.Join(appData, "knack", config.Name)
	case s.env.Home == "":
		return ""
	}
	return filepath.Join(s.env.Home, ".config", "knack", config.Name)
}

// files returns the files in effect for a folder, the one with the highest precedence
// first.
func (s *settings) files(folder string) ([]*configFile, error) {
	if s.given != "" {
		f, err := s.load(absolute(*s.env, s.given), s.given, readUserFile)
		return []*configFile{f}, err
	}
	var out []*configFile
	user := s.userFile()
	for _, at := range dir.Repository(folder) {
		file := filepath.Join(at, config.Name)
		if _, err := os.Lstat(file); err != nil || file == user {
			continue
		}
		f, err := s.load(file, atHome(*s.env, file), readContained)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
		break
	}
	if user == "" {
		return out, nil
	}
	f, err := s.load(user, atHome(*s.env, user), readUserFile)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	return append(out, f), err
}

// trusted returns the file of --config, or the user's, or nil. It never reads a project's,
// which may be a clone.
func (s *settings) trusted() (*configFile, error) {
	file, shown := absolute(*s.env, s.given), s.given
	if s.given == "" {
		if file = s.userFile(); file == "" {
			return nil, nil
		}
		shown = atHome(*s.env, file)
	}
	f, err := s.load(file, shown, readUserFile)
	switch {
	case s.given == "" && errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case len(f.problems) > 0:
		return nil, f.refused()
	}
	return f, nil
}

// checkOf returns the settings of check for a folder. A file with a problem is wrong usage,
// since half a configuration is not usable.
func (s *settings) checkOf(folder string) (config.Check, error) {
	files, err := s.files(folder)
	if err != nil {
		return config.Check{}, err
	}
	var c config.Check
	for _, f := range files {
		if len(f.problems) > 0 {
			return c, f.refused()
		}
		c = c.WithDefaults(f.config.Check)
	}
	return c, nil
}

func (s *settings) load(file, shown string, read func(string) ([]byte, error)) (*configFile, error) {
	if f := s.read[file]; f != nil {
		return f, nil
	}
	data, err := read(file)
	if err != nil {
		return nil, runError(hintOf(err, "make it a text file that knack can read"), "%s cannot be read: %w", shown, readError{err})
	}
	f := &configFile{path: file, shown: filepath.ToSlash(shown), data: data}
	f.config, f.problems = config.Parse(data)
	s.read[file] = f
	s.used = append(s.used, f)
	return f, nil
}

// readError words why a file cannot be read, and keeps the error in its chain.
type readError struct{ err error }

func (e readError) Error() string { return reasonOf(e.err) }
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

// readUserFile reads a file that the user named, through links, and at most one byte more
// than [config.MaxSize]. It refuses a pipe or a device, which could block the process for
// ever. The null device is an empty file.
func readUserFile(file string) ([]byte, error) {
	regular := func(info os.FileInfo, err error) error {
		if err == nil && !info.Mode().IsRegular() {
			err = &fs.PathError{Op: "open", Path: file, Err: skill.ErrNotRegular}
		}
		return err
	}
	info, err := os.Stat(file) // opening some devices has effects
	if null, nullErr := os.Stat(os.DevNull); err == nil && nullErr == nil && os.SameFile(info, null) {
		return nil, nil
	}
	if err := regular(info, err); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := regular(f.Stat()); err != nil { // it may have been replaced
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, config.MaxSize+1))
}

// refused returns the first problem as an error, with its position.
func (f *configFile) refused() error {
	p := f.problems[0]
	hint := p.Fix
	if n := len(f.problems) - 1; n > 0 {
		hint += fmt.Sprintf(" (%s; knack config check shows all)", display.Count(n, "further problem"))
	}
	return usageError(hint, "%s:%s: %s", f.shown, p.Position, p.Message)
}

// hintOf says what to do about a file that the user named and that cannot be read. other is
// the hint if the file exists.
func hintOf(err error, other string) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "check the path"
	}
	return other
}

// reasonOf words an error about a file that the user named.
func reasonOf(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "there is no such file"
	}
	return skill.Reason(err)
}
