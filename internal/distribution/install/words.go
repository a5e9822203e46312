package install

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// formatPath formats a path for people.
func (in *Installer) formatPath(path string) string {
	if in.o.Shown == nil {
		return path
	}
	return in.o.Shown(path)
}

// lockShown returns the path of the lock, for people.
func (in *Installer) lockShown() string { return in.formatPath(in.LockFile()) }

// command returns a command that concerns this lock, to be pasted into a shell.
func (in *Installer) command(words ...string) string {
	if in.o.Command == nil {
		return "knack " + strings.Join(words, " ")
	}
	return in.o.Command(words...)
}

// word returns the word that identifies a locked skill in a command: its name, or else its folder.
func (in *Installer) word(key string) string {
	name, same := in.lock.Skills[key].Name, 0
	for _, e := range in.lock.Skills {
		if e.Name == name {
			same++
		}
	}
	if same != 1 || !skill.ValidName(name) {
		return key
	}
	return name
}

// has reports whether the running command has a flag.
func (in *Installer) has(flag string) bool { return in.o.HasFlag == nil || in.o.HasFlag(flag) }

// orTo returns a fix with a second way, which needs --to. Without that flag, it returns only the
// fix.
func (in *Installer) orTo(fix, way string) string {
	if !in.has("to") {
		return fix
	}
	return fix + ", or " + way + " with --to"
}

// overwrite returns the fix that replaces or removes the present files of a locked skill, or of all
// skills if the key is "". does tells the effect of --overwrite.
func (in *Installer) overwrite(key, does string) string {
	flag := "--overwrite"
	switch {
	case in.has("overwrite") && key != "":
	case key == "":
		flag = in.command("sync", flag)
	default:
		flag = in.command("sync", in.word(key), flag)
	}
	return flag + " " + does + ", and moves the present files aside"
}

// keep returns the fix that makes the present files of a skill's folder its locked state.
func (in *Installer) keep(key string) string {
	was, locked := in.lock.Skills[key]
	if locked && in.isOwn(key) {
		return in.command("update", in.word(key)) + " keeps the change"
	}
	words := in.addTo(key, in.typed(in.Folder(key)))
	if !locked {
		return in.command(words...) + " records it as your own"
	}
	words = append(words, "--overwrite")
	if was.Signer != "" {
		words = append(words, "--accept-signer")
	}
	return in.command(words...) + " keeps it as it is, as your own skill"
}

// isOwn reports whether the source of a locked skill is its own folder.
func (in *Installer) isOwn(key string) bool {
	return in.lock.Skills[key].Path == "." && in.isOriginal(key)
}

// isOriginal reports whether the folder of a locked skill is also its place in its source. In that
// case, its files are nowhere else.
func (in *Installer) isOriginal(key string) bool { return in.isSource(key, in.lock.Skills[key]) }

// isSource reports whether the folder of a key is the place of an entry in its source.
func (in *Installer) isSource(key string, e lockfile.Skill) bool {
	r, err := origin.Locked(e.Source, e.Want, in.o.Root, in.o.Home)
	return err == nil && in.installedAt(r, e.Path) == key
}

// isLost reports whether the locked files of a step are nowhere on this machine. Its source is its
// own folder, whose files have changed, and the store does not have them.
func (in *Installer) isLost(s *Step) bool {
	if !in.isSource(s.Key, s.Entry) || s.found.digest == s.Entry.Digest {
		return false
	}
	_, err := in.o.Store.Find(s.Entry.Digest)
	return err != nil
}

// drops returns the fix that removes the lock entry of a skill whose files are lost.
func (in *Installer) drops(key string) string {
	return in.command("remove", in.word(key)) + " drops it from the lock; " + mayHave
}

// sourceProblem returns the problem of a locked skill whose source cannot be read. If the source is
// the skill's own folder, and is missing, the user can only drop the skill.
func (in *Installer) sourceProblem(key string, err error) *Problem {
	p := ProblemOf(err)
	if in.isOwn(key) && errors.Is(dir.Check(in.Folder(key)), fs.ErrNotExist) {
		p.Fix = in.drops(key)
	}
	return p
}

// again returns the command that adds a locked skill again, from the present state of its source.
func (in *Installer) again(key string) string { return in.addAt(key, in.lock.Skills[key].Path) }

// addAt returns the command that replaces a locked skill with the skill in a folder of its
// source.
func (in *Installer) addAt(key, path string) string {
	return in.addFromSource(key, in.source(in.lock.Skills[key]), path)
}

// addAsked returns the command for NAME@REFERENCE, which adds a locked skill again at that
// reference. It returns "" for any other text, or if the source takes no reference.
func (in *Installer) addAsked(text string) string {
	name, want, _ := strings.Cut(text, "@")
	keys := in.KeysOf(name)
	if len(keys) != 1 || want == "" {
		return ""
	}
	e := in.lock.Skills[keys[0]]
	r, err := origin.Locked(e.Source, want, in.o.Root, in.o.Home)
	if err != nil {
		return ""
	}
	return in.addFromSource(keys[0], r.String(), e.Path)
}

// addFromSource returns the command that adds a locked skill again, from a folder of a source.
func (in *Installer) addFromSource(key, source, path string) string {
	words := in.addTo(key, source)
	if path != "." {
		words = append(words, "--skill", path)
	}
	return in.command(words...)
}

// addTo returns the words of a command that adds a source at the place of a key.
func (in *Installer) addTo(key, source string) []string {
	words := []string{"add", source}
	if to := filepath.Dir(in.Folder(key)); to != in.o.To {
		words = append(words, "--to", in.formatPath(to))
	}
	return words
}

// addTarget returns the fix that replaces a link in the place of a skill by the skill that it leads
// to.
func (in *Installer) addTarget(key, place string) string {
	return "remove the link by hand, then run " + in.command(in.addTo(key, in.typed(realpath.Of(place)))...)
}

// source returns the source of an entry, without a commit or digest, as a person writes it.
func (in *Installer) source(e lockfile.Skill) string {
	r, err := origin.Locked(e.Source, "", in.o.Root, in.o.Home)
	switch {
	case err != nil:
		return e.Source
	case filepath.IsAbs(r.Location) && r.Kind != origin.Git:
		r.Source = in.typed(r.Location)
		if r.Kind == origin.Folder {
			r.Source += "/" // even if its name ends like an archive's
		}
	case r.Kind == origin.OCI:
		r.Want, _, _ = strings.Cut(e.Want, "@")
		if strings.Contains(r.Want, ":") {
			r.Want = "" // it was only a digest
		}
	}
	return r.String()
}

// typed returns a path as a person types it for a source.
func (in *Installer) typed(path string) string { return origin.Typed(in.formatPath(path)) }
