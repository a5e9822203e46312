package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/config"
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
	env   *Env
	given string // --config: this file and no other
	read  map[string]*configFile
	used  []*configFile
}

func newSettings(env *Env, given string) *settings {
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
		f, err := s.load(absolute(*s.env, s.given), s.given, readGiven)
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
	f, err := s.load(user, atHome(*s.env, user), readGiven)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	return append(out, f), err
}

// own returns the file of --config, or the user's, or nil. It never reads a project's,
// which may come from a stranger.
func (s *settings) own() (*configFile, error) {
	file, shown := absolute(*s.env, s.given), s.given
	if s.given == "" {
		if file = s.userFile(); file == "" {
			return nil, nil
		}
		shown = atHome(*s.env, file)
	}
	f, err := s.load(file, shown, readGiven)
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
		c = c.Over(f.config.Check)
	}
	return c, nil
}

func (s *settings) load(file, shown string, read func(string) ([]byte, error)) (*configFile, error) {
	if f := s.read[file]; f != nil {
		return f, nil
	}
	data, err := read(file)
	if err != nil {
		return nil, runError("let the file be a text file that the user who runs knack can read, or name another with --config", "%s cannot be read: %w", shown, readError{err})
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
// the folder, since the project may come from a stranger.
func readContained(file string) ([]byte, error) {
	fsys, err := dir.FS(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	data, _, err := skill.ReadFile(fsys, filepath.Base(file), config.MaxSize)
	return data, err
}

// readGiven reads a configuration that the user named.
func readGiven(file string) ([]byte, error) { return readOwn(file) }

// readOwn reads a file that the operator named, following links, and at most one byte more
// than [config.MaxSize]. It refuses a pipe or a device, which could block the command, or a
// server that reloads it, for ever. The null device is an empty file.
func readOwn(file string) ([]byte, error) {
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
	hint := p.Mend
	if n := len(f.problems) - 1; n > 0 {
		hint += fmt.Sprintf(" (%s; knack config check shows all)", display.Count(n, "further problem"))
	}
	return usageError(hint, "%s:%s: %s", f.shown, p.Position, p.Message)
}

// warnings are of an address at which 'knack serve' would not listen, or would refuse its
// clients, unless a flag says more; and of groups that no token is in: they exist in this
// file alone. Subjects may be those of a token file.
func (f *configFile) warnings() (all []string) {
	h := f.config.HTTP
	if at, err := addressOf(h.Listen); err == nil && h.Listen != "" {
		if why := at.unguarded(len(f.config.Access.Tokens) > 0 || h.TokenFile != "", false); why != "" {
			all = append(all, "http.listen: "+why+", so 'knack serve' refuses it: give access.tokens or http.token-file, or start it with --no-auth if all of them may read every skill")
		}
		if why := at.unnamed(h.Hosts); why != "" {
			all = append(all, "http.listen: "+why+": give each of them in http.hosts, or with --allow-host")
		}
	}
	if f.config.Access.Policy == nil {
		return all
	}
	for _, s := range f.config.Access.Policy.Strangers(access.NewTokens(f.config.Access.Tokens)) {
		if !s.Group {
			continue
		}
		w := "a rule holds for the group " + display.Quote(s.Name) + ", and no token is in it"
		if s.Near != "" {
			w += ": did you mean " + s.Near + "?"
		}
		all = append(all, w)
	}
	return all
}

// secrets returns tokens that were written in place of their hashes.
var secrets = regexp.MustCompile(`knack_[A-Za-z0-9_-]+`)

// hide replaces possible tokens by stars, to keep them out of terminals and logs.
func hide(source *check.Source, problems []skill.Problem) {
	stars := func(text string) string { return strings.Repeat("*", utf8.RuneCountInString(text)) }
	source.Hide(func(n int, line string) string {
		line = secrets.ReplaceAllStringFunc(line, stars)
		for _, p := range problems {
			runes := []rune(line)
			if p.Position.Line == n && strings.HasSuffix(p.Field, ".hash") && p.Position.Column <= len(runes) {
				line = string(runes[:p.Position.Column-1]) + stars(string(runes[p.Position.Column-1:]))
			}
		}
		return line
	})
}

// token returns the length in characters of the key or word at a position.
func token(source *check.Source, at skill.Position) int {
	line, _ := source.Line(at.Line)
	runes := []rune(line)
	rest := string(runes[min(max(at.Column-1, 0), len(runes)):])
	if i := strings.IndexAny(rest, ": \t"); i >= 0 {
		rest = rest[:i]
	}
	return utf8.RuneCountInString(rest)
}

// configReport is the JSON form of config check.
type configReport struct {
	Version  int               `json:"version"`
	Files    []string          `json:"files"`
	Findings []configReportRow `json:"findings"`
	// Warnings do not change the exit status, since the file may be intended.
	Warnings []string `json:"warnings,omitempty"`
}

type configReportRow struct {
	Rule    skill.RuleID `json:"rule"`
	File    string       `json:"file"`
	Line    int          `json:"line"`
	Column  int          `json:"column"`
	Key     string       `json:"key,omitempty"`
	Message string       `json:"message"`
	Mend    string       `json:"mend"`
}

func configCheckCommand(env *Env) *cobra.Command {
	var asJSON bool
	var project string
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Report the problems of a configuration file",
		Long: `Report every problem of a configuration file, with its position and what to write
instead. Without FILE, check the files in effect here: the project's ` + config.Name + ` and
the user's. doc/configuration.md lists the keys.

The exit status is 1 if anything is wrong.`,
		Args: between(0, 1, "one file, or nothing"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "" {
				return usageError("give a file, or none", "the file's name is empty")
			}
			s := newSettings(env, strings.Join(args, ""))
			folder := env.Dir
			if cmd.Flags().Changed("project") {
				if err := checkFolder("--project", project, absolute(*env, project)); err != nil {
					return err
				}
				folder = absolute(*env, project)
			}
			files, err := s.files(folder)
			if err != nil {
				return err
			}
			return printConfigCheck(env, files, s.userFile(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	cmd.Flags().StringVar(&project, "project", "", "the project's folder is `DIR`, not the working directory")
	_ = cmd.MarkFlagDirname("project")
	return cmd
}

func printConfigCheck(env *Env, files []*configFile, user string, asJSON bool) error {
	out := configReport{Version: 1, Files: []string{}, Findings: []configReportRow{}}
	var b strings.Builder
	for _, f := range files {
		out.Files = append(out.Files, f.shown)
		warnings := f.warnings()
		if len(f.problems)+len(warnings) == 0 {
			fmt.Fprintf(&b, "%s: nothing is wrong\n", clean(f.shown))
		}
		for _, w := range warnings {
			out.Warnings = append(out.Warnings, f.shown+": "+w)
			fmt.Fprintf(&b, "%s: warning: %s\n", clean(f.shown), clean(w))
		}
		source := check.NewSource(f.data)
		hide(source, f.problems)
		for _, p := range f.problems {
			out.Findings = append(out.Findings, configReportRow{p.Rule, f.shown, p.Position.Line, p.Position.Column, p.Field, p.Message, p.Mend})
			placed{f.shown, skill.SeverityError, p.Rule, p.Position, token(source, p.Position), p.Message, p.Mend}.write(env, &b, source)
		}
	}
	if len(files) == 0 {
		fmt.Fprintf(env.Stderr, "there is no %s in this project, nor %s; nothing needs one\n", config.Name, clean(atHome(*env, user)))
	}
	var err error
	if asJSON {
		err = printJSON(env.Stdout, out)
	} else {
		_, err = io.WriteString(env.Stdout, b.String())
	}
	if n := len(out.Findings); err == nil && n > 0 {
		return &failure{exitNo, fmt.Errorf("%s in %s", display.Count(n, "problem"), display.Count(len(files), "file")), ""}
	}
	return err
}
