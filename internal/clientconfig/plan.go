package clientconfig

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/realpath"
)

// maxFile bounds the size of a file that is read, in bytes. It is several times the size of the
// largest known settings file.
const maxFile = 16 << 20

// Choice restricts the files that [Client.Plan] considers. The zero value selects the file that
// contains an entry or, without one, the user's own file.
type Choice struct {
	Scope Scope  // only files of this scope
	File  string // only this file, at any path
}

// Change describes a client's file, and the change that [Change.Write] would make.
type Change struct {
	File    string // the client's path, or the file that it links to
	Scope   Scope
	Name    string // the name of the entry
	Key     string // path of keys to the entry or to a new one, separated by dots
	State   State
	Command []string // the command and arguments of the existing entry
	URL     string   // the URL of the existing entry
	// CommandAfter are the command and arguments after [Change.Write].
	CommandAfter []string
	// Suspicion is the reason that a project's entry is [Foreign] although it looks like knack's.
	// The project may be a clone that contains the program that the entry starts. Suspicion is ""
	// for any other entry.
	Suspicion string
	// Off is the name of the field that turns the entry off, or "" if the entry is on.
	Off string
	// ListFile is the file with a list that turns the entry off, or "". ListKey is the list's key.
	// The list contains the entry's name or, if ListOnly is set, lacks it.
	ListFile, ListKey string
	ListOnly          bool
	// Trusted reports whether the client calls the tools without asking, once the change is
	// written.
	Trusted bool
	// Shared is set for an entry in the project's file whose name is not [Name], unless the choice
	// names the project. Write then changes nothing.
	Shared bool
	// OverriddenBy is an entry of the same name that the client uses instead of this one, because
	// it prefers the other entry's file. It is nil if this entry takes effect. If the other entry
	// needs an approval, some clients use this one until then.
	OverriddenBy *Change
	// Differences are the changed fields of the entry. It is empty for a new entry.
	Differences []Difference
	// EntryBefore and EntryAfter are the entry in the file's format, without values that may be
	// secret. They are nil for a new entry.
	EntryBefore, EntryAfter []byte
	// Unreadable lists further files of the client that cannot be read.
	Unreadable []*fs.PathError
	Before     []byte // nil if the file does not exist yet
	After      []byte
	Backup     string // the path of the backup, after [Change.Write]
	// Gone is set if After has no content, so that [Change.Write] removes the file.
	Gone bool

	place   string // File with links resolved: the path to write
	existed bool
	remove  bool // whether the entry is to be removed
	mode    fs.FileMode
}

// Changed reports whether [Change.Write] has anything to write.
func (c Change) Changed() bool {
	return !c.Shared && c.State != Foreign && (!c.existed && (!c.remove || len(c.After) > 0) || !bytes.Equal(c.Before, c.After))
}

// candidate is a file in which the client looks for entries.
type candidate struct {
	location
	at, real string // the client's path; the same path with links resolved, or "" for a missing file
	place    string // at with links resolved, even for a missing file
	link     bool   // at is a link
	data     []byte
	mode     fs.FileMode
	all      map[string]entry
	err      error
}

// Plan reads the client's files in its order of precedence, and merges the entry into one of them.
// It chooses the file that choice names or, without a choice, the file that already contains an
// entry. If no file contains one, it chooses the user's own file.
func (c Client) Plan(p Env, s Server, choice Choice) (Change, error) {
	if s.URL != "" && c.remote == nil {
		return Change{}, ErrNoRemote
	}
	all := c.readFiles(p, choice)
	i, name := choose(p, all, s, choice)
	if i < 0 {
		return Change{}, errNoFolder
	}
	at := all[i]
	ch, err := c.change(p, at, name, s)
	ch.Shared = at.scope == Project && choice == Choice{} && at.all[name].fields != nil
	for j, other := range all {
		same := func(e *fs.PathError) bool { return e.Path == other.at }
		if j != i && other.err != nil && other.at != at.at && !slices.ContainsFunc(ch.Unreadable, same) {
			ch.Unreadable = append(ch.Unreadable, &fs.PathError{Op: "read", Path: other.at, Err: other.err})
		}
	}
	if choice.File != "" && err == nil {
		if _, missing := os.Stat(filepath.Dir(ch.File)); missing != nil {
			err = &MissingError{"its folder is not there", "make the folder " + filepath.Dir(ch.File) + ", or correct --file"}
		}
		return ch, err
	}
	order := all
	if choice != (Choice{}) {
		order = c.readFiles(p, Choice{})
	}
	for _, f := range order {
		if f.at == at.at && f.scope == at.scope {
			break
		}
		if f.all[name].fields != nil && f.err == nil {
			s.ReplaceURL, s.Chosen = false, nil // the other entry must not change
			first, _ := c.change(p, f, name, s)
			ch.OverriddenBy = &first
			break
		}
	}
	return ch, err
}

// MissingError is returned for a missing file or folder that knack does not create. It is also
// returned if the folder is unknown, for example without HOME. Fix is advice for the user.
type MissingError struct{ What, Fix string }

var errNoFolder = &MissingError{"the folder of its file is not known", "set HOME, or name the file with --file"}

// Error names the missing file or folder.
func (e *MissingError) Error() string { return e.What }

// change returns the change of the entry called name in one file.
func (c Client) change(p Env, at candidate, name string, s Server) (Change, error) {
	path := append(c.keysAt(p, at.location), name)
	ch := Change{
		File: cmp.Or(at.real, at.at), Scope: at.scope, Name: name, Key: strings.Join(path, "."), State: Absent,
		Before: at.data, existed: at.real != "", mode: at.mode, place: at.place,
	}
	if at.err != nil {
		return ch, at.err
	}
	if !ch.existed && c.createHint != "" && !s.Remove {
		return ch, &MissingError{"it is not there yet", c.createHint + ", and then run this again"}
	}
	s = c.ServerIn(p, at.at, s)
	if name != Name && s.URL == "" {
		s.Args = append(slices.Clone(s.Args), "--entry", name)
	}
	have := at.all[name]
	words, url := launch(have.fields)
	if at.scope == Project && have.fields != nil {
		ch.Suspicion = suspicion(p, have.fields, s)
	}
	if at.scope == Project && !s.ReplaceURL && startsKnack(words, Server{}) && (isBareName(words) || p.isProgram(words[0])) {
		program, _ := split(words)
		s = s.startedBy(program) // other people use this entry too, so this machine's path would not help
	}
	todo := c.decide(have.fields, s)
	if ch.Suspicion != "" {
		todo = change{state: Foreign}
	}
	ch.State, ch.Command, ch.URL, ch.Differences = todo.state, words, url, c.differences(have.fields, todo)
	switch {
	case have.fields["enabled"] == false:
		ch.Off = "enabled"
	case have.fields["disabled"] == true:
		ch.Off = "disabled"
	}
	ch.Trusted = len(c.trust) > 0 && (s.Trust || have.fields[c.trust[0].key] == c.trust[0].value)
	if s.Remove {
		return c.removal(ch, at, path, have)
	}
	now := todo.result(have.fields)
	ch.CommandAfter, _ = launch(now)
	if have.fields == nil {
		ch.Differences = nil
	} else {
		ch.EntryBefore, ch.EntryAfter = c.shownEntry(path, have, have.fields), c.shownEntry(path, have, now)
	}
	for _, l := range c.lists {
		if c.disables(p, l, name) {
			ch.ListFile, ch.ListKey, ch.ListOnly = filepath.FromSlash(l.file(p)), strings.Join(append(l.keys(p), l.key), "."), l.only
		}
	}
	var err error
	ch.After, err = c.mergeAt(at.data, path, have, todo)
	return ch, err
}

// removal returns the change that removes an entry of knack.
func (c Client) removal(ch Change, at candidate, path []string, have entry) (Change, error) {
	ch.After, ch.remove, ch.Differences = at.data, true, nil
	if have.fields == nil || ch.State == Foreign {
		return ch, nil
	}
	ch.Differences = c.differences(have.fields, change{drop: slices.Sorted(maps.Keys(have.fields))})
	ch.EntryBefore, ch.EntryAfter = c.shownEntry(path, have, have.fields), []byte{}
	var err error
	ch.After, err = c.removeEntry(at.data, path)
	ch.Gone = err == nil && c.isRemoved(at, ch.After)
	return ch, err
}

// isRemoved reports whether to remove a file. after is its content without the entry. A link stays,
// and so does a file that knack does not create.
func (c Client) isRemoved(at candidate, after []byte) bool {
	return c.holdsNothing(after) && !at.link && c.createHint == ""
}

// disables reports whether a list turns a server off.
func (c Client) disables(p Env, l nameList, name string) bool {
	f := candidate{location: l.location, at: filepath.FromSlash(l.file(p))}
	if f.at == "" {
		return false
	}
	c.read(p, &f)
	if f.err != nil || f.real == "" {
		return false
	}
	at, err := readJSON(f.data, l.keys(p), c.dialect)
	names, ok := at[l.key].([]any)
	return err == nil && ok && slices.Contains(names, any(name)) != l.only
}

// isBareName reports whether a command line begins with the name of a program on PATH.
func isBareName(words []string) bool { return len(words) > 0 && !strings.ContainsAny(words[0], `/\`) }

// keysAt returns the path of keys to the servers in a file.
func (c Client) keysAt(p Env, at location) []string {
	if at.keys != nil {
		return at.keys(p)
	}
	return slices.Clone(c.keys)
}

// readFiles reads the client's files that choice allows.
func (c Client) readFiles(p Env, choice Choice) (all []candidate) {
	if choice.File != "" {
		f := candidate{location: location{scope: cmp.Or(choice.Scope, User)}, at: choice.File, mode: 0o600}
		c.read(p, &f)
		return []candidate{f}
	}
	for _, at := range c.locations {
		if choice.Scope != "" && at.scope != choice.Scope || at.file(p) == "" {
			continue
		}
		f := candidate{location: at, at: filepath.FromSlash(at.file(p)), mode: 0o600}
		if at.scope == Project && choice.Scope == "" && c.isUsers(p, f.at) {
			continue // the project is the home folder
		}
		if at.scope == Project {
			f.mode = 0o644 // colleagues read the file too
		}
		c.read(p, &f)
		all = append(all, f)
	}
	return all
}

// isUsers reports whether a file belongs to the user, not to a project.
func (c Client) isUsers(p Env, file string) bool {
	return slices.ContainsFunc(c.locations, func(at location) bool {
		return at.scope == User && at.isFile(p, file)
	})
}

// choose returns the index of the file to change and the name of the entry in it, or -1. It prefers
// the first file with an entry, then the first existing file of the requested scope. An entry
// called knack in the project's file belongs to the team. Without a choice, choose skips it and
// chooses the user's own file.
func choose(p Env, all []candidate, s Server, choice Choice) (at int, name string) {
	for i, f := range all {
		if _, ok := f.all[Name]; ok && !f.borrowed && (f.scope != Project || choice != Choice{}) {
			return i, Name
		}
	}
	if s.URL == "" { // an entry of another name may start knack already
		for i, f := range all {
			if f.borrowed && choice != (Choice{}) {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(f.all)) {
				if words, _ := launch(f.all[name].fields); name != Name && startsKnack(words, Server{}) && slices.Contains(words, "serve") && (f.scope != Project || suspicion(p, f.all[name].fields, s) == "") {
					return i, name
				}
			}
		}
	}
	scope := cmp.Or(choice.Scope, User)
	best := -1
	for i, f := range all {
		switch {
		case f.scope != scope || f.borrowed:
		case f.real != "" || f.err != nil: // the file exists
			return i, Name
		case best < 0 || f.preferred:
			best = i
		}
	}
	return best, Name
}

// read fills in the content of the file. It does not follow links that lead out of a project, which
// may be a clone. It follows links in the home folder.
func (c Client) read(p Env, f *candidate) {
	if !realpath.Answers(f.at) {
		f.place, f.err = f.at, realpath.ErrSilent
		return
	}
	f.place = realpath.Of(f.at) // settings are often links into a folder under version control
	if root := filepath.FromSlash(p.Project); root != "" && root != filepath.FromSlash(p.Home) {
		if f.place, f.err = edit.Within(root, f.at); f.err != nil {
			return
		}
	}
	info, err := os.Lstat(f.at)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		f.link = !info.Mode().IsRegular()
		_, err = realpath.Eval(f.at)
	}
	if err == nil {
		f.real = f.place
		info, err = os.Lstat(f.real)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.err = errors.New("it is a link that leads nowhere")
	case err != nil && isLinkLoop(f.at):
		f.err = errors.New("it is a link that leads back to itself")
	case err != nil:
		f.err = err
	case !info.Mode().IsRegular():
		f.err = edit.ErrIrregular
	case info.Size() > maxFile:
		f.err = fmt.Errorf("it has %d bytes, and knack changes files up to %d", info.Size(), maxFile)
	default:
		f.mode = info.Mode().Perm()
		if f.data, f.err = os.ReadFile(f.real); f.err == nil {
			f.all, f.err = c.servers(f.data, c.keysAt(p, f.location))
		}
	}
}

// isLinkLoop reports whether a path contains a loop of links.
func isLinkLoop(at string) bool {
	_, err := os.Stat(at)
	return errors.Is(err, syscall.ELOOP)
}

// Write replaces the file atomically, or removes it if [Change.Gone] is set, and makes a backup
// beside it. It does not change a file that has changed since it was read.
func (c *Change) Write() error {
	switch {
	case !c.Changed():
		return nil
	case !c.existed:
		return edit.Create(c.place, c.After, c.mode)
	}
	backup, isNew, err := edit.Backup(c.place, c.Before)
	if err != nil {
		return err
	}
	if c.Gone {
		err = edit.RemoveUnchanged(c.place, c.Before)
	} else {
		err = edit.Replace(c.place, c.Before, c.After)
	}
	if err != nil && isNew {
		return errors.Join(err, edit.Remove(backup)) // without a change, no backup is needed
	} else if err != nil {
		return err
	}
	c.Backup = backup
	return nil
}
