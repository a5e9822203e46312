package dir

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/skill"
)

// Bounds on the search for sub-packages, which happens before anything is served.
const (
	// maxBelowFolders bounds the folders that are looked into. Tests change it.
	maxBelowFolders = 20_000
	maxBelowRoots   = 256
	maxBelowTime    = 2 * time.Second
	maxBelowLabel   = 60 // bytes of a folder's path in a label
	maxIgnoreFile   = 64 << 10
	maxIgnoreRules  = 1000
)

// Below lists the folders in which agents keep the skills of a project's sub-packages. It looks for
// the folders of [WellKnown] below each folder in the project, except the project itself, in path
// order. A label is "below-", the folder's path and the label of the row. A folder whose name is
// common for other things does not count.
//
// Below leaves out node_modules, folders that git ignores, linked worktrees, and everything behind
// a link. whole is false if a bound or a slow disk ended the search.
func Below(project string) (roots []skill.Root, whole bool) {
	s := &belowSearch{project: filepath.Clean(project), until: time.Now().Add(maxBelowTime), labels: map[string]bool{}, whole: true}
	for _, p := range agents.Pairs() {
		if p.Project != "" && !p.Common {
			s.pairs = append(s.pairs, p)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var above *ignoreFile
		for _, folder := range slices.Backward(Repository(s.project)[1:]) {
			above = above.in(folder)
		}
		s.search(s.project, ".", 0, above)
	}()
	select {
	case <-done:
		return s.roots, s.whole
	case <-time.After(2 * maxBelowTime):
		return nil, false
	}
}

// belowSearch is one search for the folders of sub-packages.
type belowSearch struct {
	project string
	until   time.Time
	pairs   []agents.Pair
	folders int
	labels  map[string]bool
	roots   []skill.Root
	whole   bool
}

// search looks into a folder of the project. at is its slash-separated path below the project.
func (s *belowSearch) search(folder, at string, depth int, ignored *ignoreFile) {
	if s.folders++; s.folders > maxBelowFolders || depth > maxDepth || len(s.roots) >= maxBelowRoots || time.Now().After(s.until) {
		s.whole = false
		return
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	names := map[string]bool{}
	for _, e := range entries {
		if e.IsDir() {
			names[e.Name()] = true
		} else if e.Name() == gitLink && at != "." && LinkedWorktree(s.project, folder) {
			return
		}
	}
	ignored = ignored.in(folder)
	isIgnored := func(sub string) bool { return ignored.matches(filepath.Join(folder, filepath.FromSlash(sub))) }
	if at != "." {
		s.add(folder, at, names, isIgnored)
	}
	for _, e := range entries { // in the order of their names
		if name := e.Name(); e.IsDir() && name != "node_modules" && name != gitLink && !s.isAgents(name) && !isIgnored(name) {
			s.search(filepath.Join(folder, name), path.Join(at, name), depth+1, ignored)
		}
	}
}

// isAgents reports whether agents keep their folder of skills in a folder of this name.
func (s *belowSearch) isAgents(name string) bool {
	return slices.ContainsFunc(s.pairs, func(p agents.Pair) bool {
		first, _, _ := strings.Cut(p.Project, "/")
		return first == name
	})
}

// add adds the folders of agents in a sub-package.
func (s *belowSearch) add(folder, at string, names map[string]bool, isIgnored func(sub string) bool) {
	for _, p := range s.pairs {
		first, _, _ := strings.Cut(p.Project, "/")
		if !names[first] || isIgnored(first) || isIgnored(p.Project) || !isPlainFolder(folder, p.Project) {
			continue
		}
		label := s.label(at, p.Label)
		s.roots = append(s.roots, skill.Root{Label: label, Scope: skill.ScopeProject, Dir: filepath.Join(folder, filepath.FromSlash(p.Project))})
	}
}

// isPlainFolder reports whether each part of a path below a folder is a folder and no link.
func isPlainFolder(folder, sub string) bool {
	for part := range strings.SplitSeq(sub, "/") {
		folder = filepath.Join(folder, part)
		if in, err := os.Lstat(folder); err != nil || !in.IsDir() {
			return false
		}
	}
	return true
}

// label returns a label that no root has yet.
func (s *belowSearch) label(at, row string) string {
	word := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(at[:min(len(at), maxBelowLabel)]))
	base := "below-" + strings.Trim(word, "-") + "-" + row
	label := base
	for n := 2; s.labels[label]; n++ {
		label = fmt.Sprintf("%s-%d", base, n)
	}
	s.labels[label] = true
	return label
}

// ignoreFile contains the rules of one folder for the paths that git ignores, and refers to the
// rules of the parent folders. A nil ignoreFile has no rules. See gitignore(5).
type ignoreFile struct {
	above  *ignoreFile
	folder string
	rules  []ignoreRule // the last rule that matches decides
}

type ignoreRule struct {
	parts []string // of the pattern; "**" stands for any number of folders
	keeps bool     // the pattern has a "!" in front: git does not ignore matching paths
}

// in returns the rules that apply in a folder below f's.
func (f *ignoreFile) in(folder string) *ignoreFile {
	here := &ignoreFile{above: f, folder: folder}
	for _, name := range []string{".git/info/exclude", ".gitignore"} {
		here.rules = append(here.rules, ignoreRules(readIgnore(folder, name))...)
	}
	if len(here.rules) == 0 {
		return f
	}
	return here
}

// readIgnore returns the beginning of a regular file, or "". It follows no link.
func readIgnore(folder, name string) string {
	h, err := pickOpener().folder(filepath.Join(folder, filepath.FromSlash(path.Dir(name))), false)
	if err != nil {
		return ""
	}
	defer h.close()
	if in, err := h.lstat(path.Base(name)); err != nil || !in.Mode().IsRegular() {
		return ""
	}
	f, err := h.open(path.Base(name))
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	return string(text)
}

// ignoreRules returns the rules of a file.
func ignoreRules(text string) (rules []ignoreRule) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" || line[0] == '#' || len(rules) == maxIgnoreRules {
			continue
		}
		line, keeps := strings.CutPrefix(line, "!")
		line = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(line, `\`), "/"), "[!", "[^")
		parts := strings.Split(strings.TrimPrefix(line, "/"), "/")
		if !strings.Contains(line, "/") {
			parts = []string{"**", line}
		}
		rules = append(rules, ignoreRule{slices.Compact(parts), keeps})
	}
	return rules
}

// matches reports whether git ignores a folder by these rules. The caller has already checked the
// parent folders.
func (f *ignoreFile) matches(folder string) bool {
	for ; f != nil; f = f.above {
		rel, err := filepath.Rel(f.folder, folder)
		if err != nil {
			continue
		}
		parts := strings.Split(filepath.ToSlash(rel), "/")
		for _, r := range slices.Backward(f.rules) {
			if matchParts(r.parts, parts) {
				return !r.keeps
			}
		}
	}
	return false
}

// matchParts reports whether the parts of a pattern match the parts of a path.
func matchParts(pattern, parts []string) bool {
	switch {
	case len(pattern) == 0:
		return len(parts) == 0
	case pattern[0] == "**":
		return matchParts(pattern[1:], parts) || len(parts) > 0 && matchParts(pattern, parts[1:])
	case len(parts) == 0:
		return false
	}
	same, err := path.Match(pattern[0], parts[0])
	return same && err == nil && matchParts(pattern[1:], parts[1:])
}
