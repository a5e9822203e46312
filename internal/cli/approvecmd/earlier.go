package approvecmd

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/policy/approvals"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

// earlier is the known part of a skill's earlier state.
type earlier struct {
	files  []skill.File
	fields map[string]skill.Digest
	facts  scan.Facts
	// report and read are nil if the earlier bytes are no longer available.
	report *scan.Report
	read   func(path string) ([]byte, error)
}

// earlierSkills finds the earlier states to compare skills with.
type earlierSkills interface {
	// find returns the earlier state of a skill with these files, or nil. If the comparison
	// needs no state, find sets the status to New or Same.
	find(ctx context.Context, e *catalog.Entry, files []skill.File, k *report.Compared) (*earlier, error)
	// removed returns the earlier skills that no longer exist.
	removed() []*report.Compared
}

// earlier returns the skills that words name, or all skills, and their earlier states as --against
// chooses them. For unread see [Scanner].
func (f *Comparison) earlier(ctx context.Context, env *console.Env, scanner Scanner, words []string) (entries []*catalog.Entry, before earlierSkills, unread error, err error) {
	if f.Against != againstApproved {
		isName := func(word string) bool { return selection.IsName(env, word) }
		entries, unread, err = scanner.Entries(ctx, words)
		if err != nil {
			return nil, nil, nil, err
		}
		old, err := scanner.InFolder(ctx, f.Against)
		return entries, &folderSkills{f: f, entries: old, found: map[*catalog.Entry]bool{},
			one: len(entries) == 1 && len(old) == 1, all: !slices.ContainsFunc(words, isName)}, unread, err
	}
	w, err := scanner.Open()
	if err != nil {
		return nil, nil, nil, err
	}
	book, file, err := bookOf(env, w.Files())
	if err != nil {
		return nil, nil, nil, err
	}
	v, err := w.View(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(words) > 0 {
		var missing []*command.Failure
		entries, missing = selection.Named(env, v, words)
		unread = command.Joined(missing, "not compared:")
	} else {
		entries = slices.DeleteFunc(slices.Clone(v.Entries), func(e *catalog.Entry) bool {
			_, approved := book.Of(e.URI().String())
			// The built-in skills are a part of knack, and need no approval.
			return !selection.HasURI(e) || e.Root.Scope == skill.ScopeBuiltin && !approved
		})
	}
	return entries, &approvedSkills{env, f, w.Files(), file, book, v, len(words) == 0}, unread, nil
}

// approvedSkills finds the skills as they were approved.
type approvedSkills struct {
	env   *console.Env
	f     *Comparison
	files *settings.Finder
	file  string // the path of the approvals, for messages
	book  *approvals.Book
	view  catalog.View
	all   bool // all skills are compared, not only named ones
}

func (a *approvedSkills) find(ctx context.Context, e *catalog.Entry, files []skill.File, k *report.Compared) (*earlier, error) {
	k.URI = e.URI().String()
	s := a.book.Compare(k.URI, files, time.Now())
	switch s.Is {
	case approvals.Approved:
		k.Status = report.Same
		return nil, nil
	case approvals.Expired:
		k.Status, k.Was = report.Same, s.String()
		return nil, nil
	case approvals.Never:
		k.Status, k.Was = report.New, s.String()
		return nil, nil
	}
	k.Was = s.String()
	was := &earlier{files: s.Approval.Files, fields: s.Approval.Fields, facts: factsNamed(s.Approval.Facts)}
	stored, err := storedFiles(a.env, a.files, a.file, was.files)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		k.Notes = append(k.Notes, "the store does not have the approved files, so that each finding in another file counts as new")
		return was, nil
	case err != nil:
		k.Notes = append(k.Notes, "the approved files cannot be read, so that each finding in another file counts as new: "+err.Error())
		return was, nil
	}
	r, err := scan.Skill(ctx, memoryFiles(stored), was.files, scan.Options{Only: a.f.Only})
	if err != nil {
		return nil, workspace.Interrupted(err)
	}
	was.report, was.facts = &r, r.Facts // with the rules of this version
	was.read = func(path string) ([]byte, error) { return stored[path], nil }
	return was, nil
}

func (a *approvedSkills) removed() (all []*report.Compared) {
	for _, approval := range a.book.All() {
		if a.all && skillAt(a.view, approval.URI) == nil {
			all = append(all, &report.Compared{URI: approval.URI, Status: report.Gone})
		}
	}
	return all
}

// folderSkills finds earlier skills in the folder of --against.
type folderSkills struct {
	f       *Comparison
	entries []*catalog.Entry
	found   map[*catalog.Entry]bool
	one     bool // both sides have one skill; compare them whatever their names
	all     bool // all skills are compared, not only named ones
}

// match returns the earlier skill with the same name as e. If several have the name, it prefers the
// one with the same path.
func (b *folderSkills) match(e *catalog.Entry) (found *catalog.Entry) {
	if b.one {
		return b.entries[0]
	}
	for _, o := range b.entries {
		if o.Name == e.Name && (found == nil || o.Path == e.Path) {
			found = o
		}
	}
	return found
}

func (b *folderSkills) find(ctx context.Context, e *catalog.Entry, _ []skill.File, k *report.Compared) (*earlier, error) {
	o := b.match(e)
	if o == nil || o.FS == nil {
		k.Status = report.New
		return nil, nil
	}
	b.found[o] = true
	files, err := o.Manifest(ctx, nil)
	if err != nil {
		k.Notes = []string{"the earlier files cannot be compared: " + skill.Reason(err)}
		return nil, nil
	}
	r, err := scan.Loaded(ctx, o.Skill, scan.Options{Only: b.f.Only})
	if err != nil {
		return nil, workspace.Interrupted(err)
	}
	return &earlier{files, fieldDigests(o.Frontmatter), r.Facts, &r, func(path string) ([]byte, error) {
		data, _, err := o.ReadServed(path, skill.MaxFile)
		return data, err
	}}, nil
}

func (b *folderSkills) removed() (all []*report.Compared) {
	for _, o := range b.entries {
		if b.all && !b.found[o] {
			all = append(all, &report.Compared{Scanned: &report.Scanned{Name: o.Name, Folder: skill.Join(o.Root.Shown, o.Path), Skill: o.Skill}, Status: report.Gone})
		}
	}
	return all
}
