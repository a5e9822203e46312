package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// What a scan of the roots does not come to: a skill in a folder that is left out
// or that is no root, a folder without SKILL.md, a lone file of that name.

// Bounds of that search: it begins where everything else has found nothing, and
// may be asked in a home folder.
const (
	elsewherePatience = 2 * time.Second
	elsewhereFolders  = 50_000
	elsewhereFound    = 10
)

// stray is something of the name that was asked for, where no skill is served.
type stray struct {
	At   string `json:"path"`
	Why  string `json:"why"`
	Mend string `json:"mend"`
}

// elsewhere is one such search.
type elsewhere struct {
	x       *examined
	key     skill.Key
	strays  []stray
	bare    []bareFolder
	seen    map[string]bool // folders that are told of
	folders int
	cut     string // the folder in which time or number ran out
	full    bool   // enough was found
}

// lookElsewhere searches the roots for what they hold beside skills, and the
// repository for what lies in no root.
func (x *examined) lookElsewhere(ctx context.Context, s *story, key skill.Key) {
	ctx, cancel := context.WithTimeout(ctx, elsewherePatience)
	defer cancel()
	l := &elsewhere{x: x, key: key, seen: map[string]bool{}}
	for _, b := range s.bare {
		l.seen[b.dir] = true
	}
	for _, r := range x.view.Roots {
		if r.Dir != "" && !r.Missing && r.Err == nil {
			l.root(ctx, r.Dir)
		}
	}
	if x.project != "" {
		l.repository(ctx, x.project)
	}
	l.clients(ctx)
	if ctx.Err() != nil && l.cut == "" {
		l.cut = l.shown(x.env.Home)
	}
	s.strays, s.bare = l.strays, append(s.bare, l.bare...)
	if l.full {
		s.blind = append(s.blind, fmt.Sprintf("further: the search ended with the first %d that have the name", elsewhereFound))
	}
	if l.cut != "" {
		s.blind = append(s.blind, l.cut+": it was searched for the name only in part, as it holds too much for a moment")
	}
}

// root walks a root for folders and files of the name, and for skills in the
// folders that a scan leaves out.
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
			l.cut = l.shown(root)
			return fs.SkipAll
		}
		name := e.Name()
		switch {
		case e.IsDir():
			l.folders++
			if name == "node_modules" || name == ".git" {
				l.leftOut(ctx, at, name)
				return fs.SkipDir
			} else if skill.KeyOf(name) == l.key {
				l.folder(at)
			}
		case l.isFileOf(name):
			if owner := l.owner(at); owner != nil {
				l.part(at, owner)
			} else {
				l.add(at, "is a file, and a skill is a folder", fileMend(name))
			}
		}
		return nil
	})
}

// isFileOf: the file is called as the skill, with an ending.
func (l *elsewhere) isFileOf(name string) bool {
	stem := strings.TrimSuffix(name, path.Ext(name))
	return stem != name && stem != "" && skill.KeyOf(stem) == l.key
}

func fileMend(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".zip", ".skill", ".tar", ".gz", ".tgz":
		return "unpack it here, so that its SKILL.md lies in a folder"
	}
	folder := strings.TrimSuffix(name, path.Ext(name))
	return "if it is meant as a skill, make the folder " + skill.Quote(folder) + " here and move the file into it as SKILL.md"
}

// leftOut looks for the skill below a folder that no scan enters.
func (l *elsewhere) leftOut(ctx context.Context, at, name string) {
	for _, b := range l.skills(ctx, at) {
		l.add(b.Dir(), "lies below "+name+", which is not searched", "copy it into a folder that is searched, or add its folder to those: "+l.serving(filepath.Dir(b.Dir())))
	}
}

// repository looks for the skill in folders that are no roots.
func (l *elsewhere) repository(ctx context.Context, project string) {
	chain := dir.Repository(project)
	top := chain[len(chain)-1]
	l.noRoot(ctx, top)
	for _, at := range chain {
		if modules := filepath.Join(at, "node_modules"); len(l.strays) == 0 {
			l.leftOut(ctx, modules, "node_modules")
		}
	}
	if ctx.Err() != nil {
		l.cut = l.shown(top)
	}
}

// clients looks beside the user's roots: plugins of a client lie in its folder.
func (l *elsewhere) clients(ctx context.Context) {
	for _, r := range dir.WellKnown(nil, l.x.env.Home) {
		if at := filepath.Dir(r.Dir); at != l.x.env.Home && len(l.strays) < elsewhereFound {
			l.noRoot(ctx, at)
		}
	}
}

func (l *elsewhere) noRoot(ctx context.Context, top string) {
	for _, b := range l.skills(ctx, top) {
		if !l.rooted(b.Dir()) {
			l.add(b.Dir(), "holds the skill, and lies in no folder that is looked in", "move it into .claude/skills, or add its folder to those: "+l.serving(filepath.Dir(b.Dir())))
		}
	}
}

// skills are those below a folder that have the name, or whose folder has.
func (l *elsewhere) skills(ctx context.Context, at string) (out []*skill.Bundle) {
	root := skill.Root{Label: "elsewhere", Scope: skill.ScopeProject, Dir: at}
	scan, _ := dir.New(dir.Options{Root: root, Links: dir.LinksNever}).Scan(ctx)
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

// rooted reports whether a folder lies in a root.
func (l *elsewhere) rooted(at string) bool {
	return slices.ContainsFunc(l.x.view.Roots, func(r catalog.RootStatus) bool {
		_, ok := below(at, r.Dir)
		return ok
	})
}

// owner is the skill in whose folder a path lies, or nil.
func (l *elsewhere) owner(at string) (owner *catalog.Entry) {
	for _, e := range l.x.view.Entries {
		if _, ok := below(at, e.Dir()); ok && (owner == nil || len(e.Dir()) > len(owner.Dir())) {
			owner = e
		}
	}
	return owner
}

// part tells of what belongs to a skill, and is none.
func (l *elsewhere) part(at string, owner *catalog.Entry) {
	l.add(at, "is a part of the skill in "+l.shown(owner.Dir()), "ask for that skill; one of its own is a folder with a SKILL.md")
}

// folder tells of a folder of the name in which there is no skill.
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
		return // a notice says so
	}
	b := bareFolder{At: l.shown(at), Files: []string{}, dir: at}
	for _, e := range entries {
		if strings.EqualFold(e.Name(), skill.MainFile) {
			l.add(at, "lies too deep below its root, or behind a link that is not followed", "move it up, or add its folder to those that are searched: "+l.serving(filepath.Dir(at)))
			return
		}
		if !strings.HasPrefix(e.Name(), ".") && len(b.Files) < bareFiles {
			b.Files = append(b.Files, e.Name())
		}
	}
	l.seen[at] = true
	l.bare = append(l.bare, b)
}

func (l *elsewhere) add(at, why, mend string) {
	if !l.seen[at] && len(l.strays) < elsewhereFound {
		l.seen[at] = true
		l.strays = append(l.strays, stray{l.shown(at), why, mend})
	}
}

// serving is the command that serves a folder beside all others, those that the
// variable names today included.
func (l *elsewhere) serving(at string) string {
	if strings.ContainsRune(l.shown(at), filepath.ListSeparator) {
		return "not while there is a " + string(filepath.ListSeparator) + " in its path; rename it first"
	}
	kept := ""
	if l.x.env.Getenv(dirsVariable) != "" {
		kept = `"$` + dirsVariable + `"` + string(filepath.ListSeparator)
	}
	return dirsVariable + "=" + kept + shellWord(l.shown(at)) + " knack serve"
}

// shellWord writes a path so that a shell reads it as one word, byte for byte.
func shellWord(path string) string {
	home, rest := "", path
	if strings.HasPrefix(path, "~/") {
		home, rest = "~/", path[2:]
	}
	switch {
	case !utf8.ValidString(rest) || clean(rest) != rest || skill.OneLine(rest) != rest:
		var b strings.Builder
		for _, c := range []byte(rest) {
			if c < ' ' || c >= 0x7f || c == '\'' || c == '\\' {
				fmt.Fprintf(&b, "\\%03o", c)
			} else {
				b.WriteByte(c)
			}
		}
		return home + "$'" + b.String() + "'"
	case strings.ContainsAny(rest, " \t'\"\\$`;&|<>()*?[]{}#!~"):
		return home + "'" + strings.ReplaceAll(rest, "'", `'\''`) + "'"
	}
	return path
}

func (l *elsewhere) shown(at string) string {
	return shown(at, []string{l.x.env.Dir}, l.x.env.Home)
}
