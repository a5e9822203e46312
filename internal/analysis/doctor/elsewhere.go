package doctor

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// This file finds files and folders that have the requested name but that a scan does not reach: a
// skill in an ignored folder or outside the roots, a folder without SKILL.md, or a single file.

// The limits of the search. The search is the last resort, and may run in a home folder.
const (
	elsewherePatience = 2 * time.Second
	elsewhereFolders  = 50_000
	elsewhereFound    = 10
)

// Stray is a file or folder with the requested name from which no skill is served.
type Stray struct {
	At  string `json:"path"`
	Why string `json:"why"`
	Fix string `json:"fix"`
}

// elsewhere is the state of one search.
type elsewhere struct {
	r       *Report
	key     skill.Key
	strays  []Stray
	bare    []BareFolder
	seen    map[string]bool // folders that were reported
	folders int
	cut     string // the folder in which the search reached a limit, or ""
	full    bool   // the search found enough
}

// searchElsewhere searches the roots for files and folders that have the name but are not skills.
// It also searches the repository outside the roots, and the folders of clients.
func (s *Explanation) searchElsewhere(ctx context.Context, key skill.Key) {
	ctx, cancel := context.WithTimeout(ctx, elsewherePatience)
	defer cancel()
	l := &elsewhere{r: s.Report, key: key, seen: map[string]bool{}}
	for _, b := range s.Folders {
		l.seen[b.dir] = true
	}
	for _, r := range l.r.View.Roots {
		if r.Dir != "" && !r.Missing && r.Err == nil {
			l.root(ctx, r.Dir)
		}
	}
	if l.r.Options.Project != "" {
		l.repository(ctx, l.r.Options.Project)
	}
	l.clients(ctx)
	if ctx.Err() != nil && l.cut == "" {
		l.cut = l.display(l.r.Options.Home)
	}
	s.Strays, s.Folders = append(s.Strays, l.strays...), append(s.Folders, l.bare...)
	if l.full {
		s.Unsearched = append(s.Unsearched, fmt.Sprintf("further: the search ended with the first %d that have the name", elsewhereFound))
	}
	if l.cut != "" {
		s.Unsearched = append(s.Unsearched, l.cut+": it was searched for the name only in part, because it has too many files")
	}
}

// root searches a root for folders and files with the name, and for skills in folders that a scan
// ignores.
func (l *elsewhere) root(ctx context.Context, root string) {
	_ = filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		if err != nil || at == root {
			return nil
		}
		if len(l.strays)+len(l.bare) >= elsewhereFound {
			l.full = true
			return fs.SkipAll
		}
		if ctx.Err() != nil || l.folders > elsewhereFolders {
			l.cut = l.display(root)
			return fs.SkipAll
		}
		name := e.Name()
		switch {
		case e.IsDir():
			l.folders++
			if name == "node_modules" || name == ".git" {
				l.skippedFolder(ctx, at, name)
				return fs.SkipDir
			} else if dir.LinkedWorktree(root, at) {
				l.skippedFolder(ctx, at, l.display(at)+", a linked worktree of the repository")
				return fs.SkipDir
			} else if skill.KeyOf(name) == l.key {
				l.folder(at)
			}
		case l.isFileOf(name):
			if owner := l.owner(at); owner != nil {
				l.part(at, owner)
			} else {
				l.add(at, "is a file, and a skill is a folder", fileFix(name))
			}
		}
		return nil
	})
}

// isFileOf reports whether a file has the skill's name with an extension.
func (l *elsewhere) isFileOf(name string) bool {
	stem := strings.TrimSuffix(name, path.Ext(name))
	return stem != name && stem != "" && skill.KeyOf(stem) == l.key
}

func fileFix(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".zip", ".skill", ".tar", ".gz", ".tgz":
		return "unpack it here, so that its SKILL.md is in a folder"
	}
	folder := strings.TrimSuffix(name, path.Ext(name))
	return "if it is meant as a skill, make the folder " + display.Quote(folder) + " here and move the file into it as SKILL.md"
}

// skippedFolder searches for the skill below a folder that no scan enters.
func (l *elsewhere) skippedFolder(ctx context.Context, at, name string) {
	for _, b := range l.skills(ctx, at) {
		l.add(b.Dir(), "is below "+name+", which is not searched", l.search("copy it into a folder that is searched", filepath.Dir(b.Dir())))
	}
}

// repository searches for the skill in folders of the repository that are not roots.
func (l *elsewhere) repository(ctx context.Context, project string) {
	chain := dir.Project(project, l.r.Options.Home)
	if len(chain) == 0 {
		return
	}
	top := chain[len(chain)-1]
	l.noRoot(ctx, top)
	for _, at := range chain {
		if modules := filepath.Join(at, "node_modules"); len(l.strays) == 0 {
			l.skippedFolder(ctx, modules, "node_modules")
		}
	}
	if ctx.Err() != nil {
		l.cut = l.display(top)
	}
}

// clients searches in plugins that are not served, and beside the user's roots.
func (l *elsewhere) clients(ctx context.Context) {
	for _, p := range l.r.Options.Plugins {
		if p.Root == "" && p.Dir != "" && len(l.strays) < elsewhereFound {
			l.noRoot(ctx, p.Dir)
		}
	}
	for _, r := range dir.WellKnown(nil, l.r.Options.Home, l.r.Options.Getenv) {
		if at := filepath.Dir(r.Dir); !r.Absent && at != l.r.Options.Home && len(l.strays) < elsewhereFound {
			l.noRoot(ctx, at)
		}
	}
}

func (l *elsewhere) noRoot(ctx context.Context, top string) {
	for _, b := range l.skills(ctx, top) {
		if p := l.r.Options.pluginAt(b.Dir()); p != nil {
			l.add(b.Dir(), "is in the "+p.Title()+", which is "+p.State+": "+p.Reason, p.Fix)
		} else if !l.rooted(b.Dir()) {
			l.add(b.Dir(), "contains the skill, but is in no folder that is searched", cmp.Or(l.addRoot(filepath.Dir(b.Dir())), l.search("move it into .claude/skills", filepath.Dir(b.Dir()))))
		}
	}
}

// skills returns the skills below a folder that have the name or whose folder has the name.
func (l *elsewhere) skills(ctx context.Context, at string) (out []*skill.Bundle) {
	root := skill.Root{Label: "elsewhere", Scope: skill.ScopeProject, Dir: at}
	scan, _ := dir.New(dir.Options{Root: root, NoLinks: true}).Scan(ctx)
	for _, b := range scan.Bundles {
		if ctx.Err() != nil {
			return out
		}
		if skill.KeyOf(b.Folder()) == l.key {
			out = append(out, b)
		} else if s := skill.Load(b); s.Name != "" && skill.KeyOf(s.Name) == l.key {
			out = append(out, b)
		}
	}
	return out
}

// rooted reports whether a folder is in a root.
func (l *elsewhere) rooted(at string) bool {
	return slices.ContainsFunc(l.r.View.Roots, func(r catalog.RootStatus) bool {
		return r.Dir != "" && realpath.Within(r.Dir, at)
	})
}

// owner returns the skill whose folder contains a path, or nil.
func (l *elsewhere) owner(at string) (owner *catalog.Entry) {
	for _, e := range l.r.View.Entries {
		if e.Dir() != "" && realpath.Within(e.Dir(), at) && (owner == nil || len(e.Dir()) > len(owner.Dir())) {
			owner = e
		}
	}
	return owner
}

// part reports a file or folder that is part of a skill and not a skill itself.
func (l *elsewhere) part(at string, owner *catalog.Entry) {
	l.add(at, "is a part of the skill in "+l.display(owner.Dir()), "ask for that skill; one of its own is a folder with a SKILL.md")
}

// folder reports a folder that has the name but no skill.
func (l *elsewhere) folder(at string) {
	if l.seen[at] {
		return
	}
	if owner := l.owner(at); owner != nil && !holdsMain(at) {
		l.part(at, owner)
		return
	}
	entries, err := os.ReadDir(at)
	if err != nil {
		return // a notice reports it
	}
	b := BareFolder{At: l.display(at), Files: []string{}, dir: at}
	for _, e := range entries {
		if skill.IsEntryNameInAnyCase(e.Name()) {
			l.add(at, "is too deep below its root, or behind a link that is not followed", l.search("move it up", filepath.Dir(at)))
			return
		}
		if !strings.HasPrefix(e.Name(), ".") && len(b.Files) < bareFiles {
			b.Files = append(b.Files, e.Name())
		}
	}
	l.seen[at] = true
	l.bare = append(l.bare, b)
}

func (l *elsewhere) add(at, why, fix string) {
	if !l.seen[at] && len(l.strays) < elsewhereFound {
		l.seen[at] = true
		l.strays = append(l.strays, Stray{l.display(at), why, fix})
	}
}

// search returns the fix that moves a skill, or else searches its folder. A file that names the
// roots has no root within another one.
func (l *elsewhere) search(move, folder string) string {
	if l.addRoot(folder) != "" {
		return move
	}
	return move + ", or add its folder to the searched ones: " + l.r.Options.Serving(folder)
}

// addRoot returns the fix that adds a folder to the file that names the roots, or "" without one.
func (l *elsewhere) addRoot(folder string) string {
	if l.r.Options.AddRoot == nil {
		return ""
	}
	return l.r.Options.AddRoot(folder)
}

func (l *elsewhere) display(at string) string { return l.r.Options.Shown(at) }
