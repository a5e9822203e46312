package selection

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// Find finds a skill by its URI, its name or its folder. The error suggests skills with a similar
// name that suits accepts. If suits is nil, it may suggest any skill.
func Find(env *console.Env, v catalog.View, name string, suits func(*catalog.Entry) bool) (*catalog.Entry, string, error) {
	if uri, err := skill.ParseURI(name); err == nil {
		if e, file := v.At(uri); e != nil {
			if within := v.SkippedAt(uri); within != nil && file != "." && file != skill.MainFile {
				return within, skill.MainFile, nil
			}
			if file == "." {
				file = skill.MainFile
			}
			return e, file, nil
		}
	}
	if e := v.Named(name); e != nil {
		return e, skill.MainFile, nil
	}
	if e := v.InFolder(name); e != nil && e.Entry != "" {
		return e, skill.MainFile, nil // also for a skipped skill, which its author wants to see
	}
	if e := Skipped(v, name); e != nil && e.Entry != "" {
		return e, skill.MainFile, nil
	}
	hint, where := env.Command("list")+" shows all names", ""
	for _, r := range v.Roots {
		if reason, fix := r.Reason(); reason != "" {
			hint, where = fmt.Sprintf("%s: %s; %s", display.OneLine(r.Shown), reason, fix), " in the folders that could be read"
		}
	}
	if near := v.SkippedNear(name, 1); len(near) > 0 {
		hint = tool.Reason(near[0])
	}
	var names []string
	for _, e := range v.Near(name, 3) {
		if suits == nil || suits(e) {
			names = append(names, e.Name)
		}
	}
	if best := nearLabelled(v, name); best != "" {
		names = []string{best}
	}
	if len(names) > 0 {
		hint = "did you mean " + strings.Join(names, ", ") + "?"
	}
	return nil, "", command.Fail(command.No, fmt.Errorf("there is no skill '%s'%s", display.Echo(name), where), hint)
}

// Skipped returns the skipped skill with the given LABEL:FOLDER, or the one that could have the given
// URI, or nil.
func Skipped(v catalog.View, word string) *catalog.Entry {
	if uri, err := skill.ParseURI(word); err == nil {
		return v.SkippedAt(uri)
	}
	label, folder, _ := strings.Cut(word, ":")
	var found *catalog.Entry
	for _, e := range v.Skipped {
		if e.Root.Label != label || e.Folder() != folder {
			continue
		}
		if found != nil {
			return nil // the word does not say which
		}
		found = e
	}
	return found
}

// nearLabelled returns the LABEL:NAME that is nearest to a mistyped one, or "".
func nearLabelled(v catalog.View, typed string) string {
	_, name, ok := strings.Cut(typed, ":")
	if !ok {
		return ""
	}
	var all []string
	for _, e := range v.Entries {
		if e.Status != catalog.Skipped && typo.Nearest(name, []string{e.Name}) != "" {
			all = append(all, e.Root.Label+":"+e.Name)
		}
	}
	return typo.Nearest(typed, all)
}

// Named returns the skills of a view that words name. Each of these skills has a URI. unread has a
// failure for each word that names no skill. A word is a path, which may contain several skills, a
// pattern such as skill://acme/**, or any form that [Find] accepts.
func Named(env *console.Env, v catalog.View, words []string) (all []*catalog.Entry, unread []*command.Failure) {
	seen := map[*catalog.Entry]bool{}
	for _, word := range words {
		named, err := named(env, v, word)
		if err != nil {
			unread = append(unread, command.FailureIn(err))
		}
		for _, e := range named {
			if !seen[e] {
				seen[e] = true
				all = append(all, e)
			}
		}
	}
	return all, unread
}

// IsPattern reports whether a word is a pattern that matches skills.
func IsPattern(word string) bool {
	return strings.HasPrefix(word, skill.Scheme) && strings.Contains(word, "*")
}

// Pattern parses a pattern, for which [IsPattern] is true.
func Pattern(word string) (access.Pattern, error) {
	p, err := access.ParsePattern(word)
	if err != nil {
		return p, command.UsageError(`write the URI of a skill, or one with * and **, such as "skill://acme/**"`, "%s is not a pattern: %s", display.Quote(word), err)
	}
	return p, nil
}

// named returns the skills that a word names. A pattern matches no built-in skills, since they are
// a part of knack.
func named(env *console.Env, v catalog.View, word string) (all []*catalog.Entry, err error) {
	var matches func(*catalog.Entry) bool
	none := " has no skill that list knows"
	at := env.Absolute(word)
	switch _, found := os.Lstat(at); {
	case word == "":
		return nil, command.UsageError("give a folder or the name of a skill", "the name is empty")
	case IsPattern(word):
		p, err := Pattern(word)
		if err != nil {
			return nil, err
		}
		matches = func(e *catalog.Entry) bool { return e.Root.Scope != skill.ScopeBuiltin && p.FitsAny(e) }
		none = " fits no skill that list knows"
	case IsName(env, word):
		e, _, err := Find(env, v, word, nil)
		if err != nil {
			return nil, err
		}
		if !HasURI(e) {
			return nil, notServed(word, e)
		}
		return []*catalog.Entry{e}, nil
	case found != nil:
		return nil, command.RunError("check the path", "%s: %s", display.Echo(word), skill.Reason(found))
	default:
		if skill.IsEntryNameInAnyCase(filepath.Base(at)) {
			at = filepath.Dir(at)
		}
		at = realpath.Of(at)
		matches = func(e *catalog.Entry) bool {
			_, below := console.Below(realpath.Of(e.Dir()), at)
			return e.Dir() != "" && below
		}
	}
	for _, e := range v.Entries {
		if HasURI(e) && matches(e) {
			all = append(all, e)
		}
	}
	if i := slices.IndexFunc(v.Skipped, matches); len(all) == 0 && i >= 0 && !IsPattern(word) {
		return nil, notServed(word, v.Skipped[i])
	}
	if len(all) == 0 {
		return nil, command.Fail(command.No, fmt.Errorf("%s%s", display.Echo(word), none), "give the --dir or the --config with which the skill is served")
	}
	return all, nil
}

// notServed returns the error for a word that names a skipped skill, with the reason.
func notServed(word string, e *catalog.Entry) error {
	return command.Fail(command.No, fmt.Errorf("%s is not served: %s", display.Quote(word), tool.Reason(e)), "")
}

// HasURI reports whether a skill has a URI, which approving it needs.
func HasURI(e *catalog.Entry) bool { return e.FS != nil && e.Tail != "" }

// IsName reports whether a word is the name of a skill and not a path. A path that exists counts as
// a path, even if it cannot be read or is a dangling link.
func IsName(env *console.Env, word string) bool {
	_, found := os.Lstat(env.Absolute(word))
	label, _, labelled := strings.Cut(word, ":")
	labelled = labelled && len(label) > 1 && !strings.ContainsAny(label, `/\`) // one letter is a Windows drive
	switch {
	case found == nil || errors.Is(found, fs.ErrPermission) || typo.IsMainFile(word) || skill.IsEntryNameInAnyCase(word):
		return false
	case labelled:
		return true // Windows returns another error for such a name
	}
	return errors.Is(found, fs.ErrNotExist) && !strings.ContainsAny(word, `/\`)
}
