// Package install installs skills for agents, and records them in a lock. It first makes a plan,
// and then carries out exactly that plan. It never loses files that knack did not write.
package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/distribution/archive"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Options configures an [Installer].
type Options struct {
	Root string // the folder of the lock, absolute
	To   string // the folder that gets new skills: Root, or below it
	Dir  string // the base of relative source paths
	Home string // the user's home folder, or ""
	// Getenv returns the value of a variable that moves a client's folder; if nil, none is set.
	Getenv func(string) string
	// AtHome is set if the skills are for all projects. Clients then get them in their folders at
	// home.
	AtHome bool
	// Contained refuses links that lead out of Root. In a clone, such links come from its author.
	Contained bool
	// Kept is the folder for removed files that knack did not write.
	Kept string
	// Guard is a path outside of Root, locked while a command changes Root; "" for none.
	Guard string
	// Origins returns the reader of a kind of source.
	Origins func(origin.Kind) (origin.Origin, error)
	Store   *store.Store
	// CheckTarget returns an error if a server that the user named must not lead to an address, for
	// example by a redirect. If nil, every address is allowed.
	CheckTarget func(ctx context.Context, named, to string) error
	// Trust has the rules about signatures. The zero value has none.
	Trust trust.Rules
	// AcceptSigner accepts a skill with another signer than the locked one, or without a
	// signature.
	AcceptSigner bool
	// AllowDowngrade accepts a lower version than the locked one, and a release under the tag of
	// another version.
	AllowDowngrade bool
	// Scan, if not nil, scans a skill. A finding to enforce stops the command unless Allow lists
	// its rule.
	Scan  func(context.Context, *skill.Bundle) ([]Finding, error)
	Allow []string
	// Overwrite replaces files that were changed by hand, and moves them to Kept.
	Overwrite bool
	Offline   bool
	DryRun    bool // writes nothing except into the store
	Now       func() time.Time
	// Warn, if not nil, gets warnings that do not end the command.
	Warn func(text string)
	// Room returns the free space of a folder's file system; nil is [edit.RoomOf].
	Room func(dir string) (s edit.Space, known bool)
	// Link makes a link to a folder; nil is [edit.Link].
	Link func(path, target string) error
	// Shown formats a path for people. Command formats a knack command for this lock, quoted for a
	// shell. If they are nil, the text stays unchanged.
	Shown   func(path string) string
	Command func(words ...string) string
	// HasFlag reports whether the running command has a flag, so that fixes name no other. If nil,
	// it has every flag.
	HasFlag func(name string) bool
	// Progress, if not nil, is called for each installed skill, from any goroutine.
	Progress origin.Progress
}

// Problem is an error with its fix.
type Problem struct {
	Err error
	Fix string
	// No is set if the command worked and its result is a refusal, and Usage if the user has to
	// write the command differently. If neither is set, the command could not do its work.
	No, Usage bool
}

// Error returns the error's message.
func (p *Problem) Error() string { return p.Err.Error() }

// Unwrap returns the error.
func (p *Problem) Unwrap() error { return p.Err }

func problem(fix, format string, args ...any) *Problem {
	return &Problem{Err: fmt.Errorf(format, args...), Fix: fix}
}

// ProblemOf converts an error of a source, the store or the network into a problem with its fix.
func ProblemOf(err error) *Problem {
	var p *Problem
	if errors.Is(err, context.Canceled) {
		return &Problem{Err: interruption{}, Fix: "run the same command again"}
	}
	if errors.As(err, &p) {
		return p
	}
	var fault *store.Fault
	if errors.As(err, &fault) {
		return &Problem{Err: errors.New(fault.Error())}
	}
	var refused *trust.Refusal
	if errors.As(err, &refused) {
		return &Problem{Err: err, Fix: refused.Fix, No: true}
	}
	if p := networkProblem(err); p != nil {
		return p
	}
	return &Problem{Err: err, Fix: fixOf(err)}
}

// fixOf returns the fix for refused content, depending on the kind of the error.
func fixOf(err error) string {
	switch {
	case errors.Is(err, archive.ErrRefused):
		return "get it again in case it was damaged; else ask its author to pack it anew"
	case errors.Is(err, origin.ErrName):
		return "ask the author to rename or remove it"
	case errors.Is(err, origin.ErrLimit):
		return "ask the author to make it smaller"
	}
	return ""
}

// interruption is the error of a step that an interrupted command did not reach.
type interruption struct{}

// Error implements error.
func (interruption) Error() string { return "interrupted" }

// Is reports that an interruption is a cancellation.
func (interruption) Is(target error) bool { return target == context.Canceled }

// Installer plans and does the work of one command.
type Installer struct {
	o      Options
	real   string // Root with its links resolved
	lock   *lockfile.Lock
	old    []byte // the bytes of the lock; nil if the file does not exist
	unlock func()

	keys func() map[string]string // for planning: the key of each locked folder by its resolved path

	mu      sync.Mutex
	parents map[string]parent // the parent folders of skills, by path
}

// Open reads the lock. If changes is set, it also locks Guard, checks that the lock can be written,
// and removes the leftovers of killed commands. The caller closes the installer. An error is a
// [*Problem].
func Open(o Options, changes bool) (_ *Installer, err error) {
	in := &Installer{o: o, real: realpath.Of(o.Root)}
	in.keys = sync.OnceValue(func() map[string]string {
		keys := make(map[string]string, len(in.lock.Skills))
		for key := range in.lock.Skills {
			keys[realpath.Of(in.Folder(key))] = key
		}
		return keys
	})
	defer func() {
		if err != nil {
			in.Close()
		}
	}()
	if changes && !o.DryRun && o.Guard != "" {
		switch unlock, err := edit.Lock(edit.Named(o.Guard)); {
		case errors.Is(err, edit.ErrLocked):
			return nil, &Problem{Err: fmt.Errorf("another knack command is changing %s", display.Quote(in.formatPath(o.Root))), Fix: "run this one again when it is done", No: true}
		case err == nil:
			in.unlock = unlock
		default:
			in.warn("%s cannot be locked (%s): run no other knack command for %s at the same time", in.formatPath(in.o.Guard), cause(err), display.Quote(in.formatPath(o.Root)))
		}
	}
	if in.old, err = in.readLock(); err != nil {
		return nil, err
	}
	if in.lock, err = parseLock(in.lockShown(), in.old); err != nil {
		return nil, err
	}
	if changes && !o.DryRun && in.old != nil {
		if err := edit.Replace(in.realLock(), in.old, in.old); err != nil {
			return nil, problem("let the user who runs knack write it", "%s cannot be written: %w", in.lockShown(), cause(err))
		}
	}
	if changes && !o.DryRun {
		in.sweep()
	}
	return in, nil
}

// Close releases the lock on Guard.
func (in *Installer) Close() {
	if in.unlock != nil {
		in.unlock()
	}
}

// LockFile returns the path of the lock.
func (in *Installer) LockFile() string { return filepath.Join(in.o.Root, lockfile.Name) }

// realLock returns the path that is written: LockFile with its links resolved.
func (in *Installer) realLock() string { return filepath.Join(in.real, lockfile.Name) }

// HasLock reports whether the lock exists. It may list no skills.
func (in *Installer) HasLock() bool { return in.old != nil }

// Locked returns the lock's entries by folder. The caller must not change them.
func (in *Installer) Locked() map[string]lockfile.Skill { return in.lock.Skills }

// Folder returns the absolute path of an entry's folder.
func (in *Installer) Folder(key string) string {
	return filepath.Join(in.o.Root, filepath.FromSlash(key))
}

// readLock returns the bytes of the lock, or nil if it does not exist.
func (in *Installer) readLock() ([]byte, error) {
	t, err := dir.OpenTree(in.real, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, problem("let the user who runs knack read the folder", "%s cannot be read: %s", in.formatPath(in.o.Root), skill.Reason(err))
	}
	defer t.Close()
	data, _, err := lockfile.Read(t, skill.Stamp{})
	if bad, ok := errors.AsType[*lockfile.UnreadableError](err); ok {
		return nil, problem(bad.Fix, "%s %s", in.lockShown(), bad.Reason)
	}
	if err != nil {
		return nil, nil // the file does not exist
	}
	return data, nil
}

func parseLock(path string, data []byte) (*lockfile.Lock, error) {
	if data == nil {
		return &lockfile.Lock{Skills: map[string]lockfile.Skill{}}, nil
	}
	l, err := lockfile.Parse(data)
	var bad *jsonfile.Error
	switch {
	case errors.As(err, &bad):
		return nil, &Problem{Err: fmt.Errorf("%s:%d:%d: %s; nothing was changed", path, bad.Line, bad.Column, bad.Message), Fix: bad.Fix}
	case err != nil:
		return nil, problem("", "%s: %w; nothing was changed", path, err)
	}
	if l.Skills == nil {
		l.Skills = map[string]lockfile.Skill{}
	}
	return l, nil
}

// with returns the lock with changed entries. A nil entry is removed.
func (in *Installer) with(changed map[string]*lockfile.Skill) *lockfile.Lock {
	l := &lockfile.Lock{Skills: maps.Clone(in.lock.Skills)}
	for key, e := range changed {
		if e == nil {
			delete(l.Skills, key)
		} else {
			l.Skills[key] = *e
		}
	}
	return l
}

// writeLock records the changed entries. If another program changed other entries in the meantime,
// the lock has both changes.
func (in *Installer) writeLock(changed map[string]*lockfile.Skill) error {
	for range 5 {
		l := in.with(changed)
		data := l.Bytes()
		if bytes.Equal(data, in.old) || in.old == nil && len(l.Skills) == 0 {
			return nil
		}
		if _, err := lockfile.Parse(data); err != nil {
			return unreadable(err)
		}
		var err error
		if in.old == nil {
			err = edit.Create(in.realLock(), data, 0o666)
		} else {
			err = edit.Replace(in.realLock(), in.old, data)
		}
		if err == nil {
			in.lock, in.old = l, data
			return nil
		}
		if !errors.Is(err, edit.ErrChanged) && !errors.Is(err, edit.ErrExists) {
			return problem("mend that and run the command again: skills that are in place are then only recorded", "%s was not written: %w", in.lockShown(), cause(err))
		}
		if err := in.reread(changed); err != nil {
			return err
		}
	}
	return problem("run the command again", "%s keeps changing, so it was not written", in.lockShown())
}

// reread reads the lock that another program wrote. It returns an error if that program changed one
// of the same entries.
func (in *Installer) reread(changed map[string]*lockfile.Skill) error {
	data, err := in.readLock()
	if err != nil {
		return err
	}
	before := in.lock
	if in.lock, err = parseLock(in.lockShown(), data); err != nil {
		return err
	}
	in.old = data
	for key := range changed {
		was, had := before.Skills[key]
		now, has := in.lock.Skills[key]
		if had != has || had && !sameEntry(was, now) {
			return &Problem{Err: fmt.Errorf("another program changed the entry of %s in %s meanwhile", display.Quote(key), in.lockShown()), Fix: "run the command again", No: true}
		}
	}
	return nil
}

// sameEntry reports whether two entries have the same text in a lock.
func sameEntry(a, b lockfile.Skill) bool {
	one := func(e lockfile.Skill) []byte {
		return (&lockfile.Lock{Skills: map[string]lockfile.Skill{"x": e}}).Bytes()
	}
	return bytes.Equal(one(a), one(b))
}

// sweep removes the leftovers of killed commands. It moves folders that these commands had taken
// away to Kept.
func (in *Installer) sweep() {
	_ = edit.SweepFiles(in.real) // leftovers of writing the lock
	seen := map[string]bool{}
	sweep := func(at string) {
		if !seen[at] {
			seen[at] = true
			err := edit.Sweep(at, func(path string) error {
				backup := in.keptPath("interrupted")
				if err := edit.Move(path, edit.Named(backup)); err != nil {
					return err
				}
				in.warn("a knack command was stopped while it replaced a skill: the folder that it took away, or had not yet put there, is in %s", in.formatPath(backup))
				return nil
			})
			if err != nil {
				in.warn("%s has folders of a knack command that was stopped, which cannot be moved to %s: %s", in.formatPath(at), in.formatPath(in.o.Kept), cause(err))
			}
		}
	}
	clean := func(key string) {
		if place, err := in.place(key); err == nil {
			sweep(in.beside(place))
		}
	}
	for key, e := range in.lock.Skills {
		clean(key)
		for id := range e.Clients {
			if at, err := in.spotPath(key, agents.Find(id)); err == nil {
				sweep(in.beside(at))
			}
		}
	}
	if rel, err := filepath.Rel(in.o.Root, filepath.Join(in.o.To, "x")); err == nil {
		clean(filepath.ToSlash(rel))
	}
}

func (in *Installer) warn(format string, args ...any) {
	if in.o.Warn != nil {
		in.o.Warn(fmt.Sprintf(format, args...))
	}
}

// keptPath returns a new path below Kept.
func (in *Installer) keptPath(name string) string {
	return filepath.Join(in.o.Kept, in.o.Now().UTC().Format("20060102T150405.000000000Z")+"-"+name)
}

// cause returns the operating system's error, without the operation and the path.
func cause(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// origin returns the reader of a source. If knack is offline, it refuses a source that needs the
// network.
func (in *Installer) origin(ctx context.Context, r origin.Ref) (origin.Origin, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if in.o.Offline && !r.OnDisk() {
		return nil, problem("run it without --offline and KNACK_OFFLINE", "%s would have to be asked, and knack is offline", r.Source)
	}
	return in.o.Origins(r.Kind)
}
