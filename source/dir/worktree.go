package dir

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/internal/base/realpath"
)

// gitLink is the name of the file that replaces the folder ".git" in a linked worktree and in a
// submodule. It has one line, "gitdir: PATH" (gitrepository-layout(5)).
const gitLink = ".git"

// maxGitLink bounds the size of that file.
const maxGitLink = 8 << 10

// LinkedWorktree reports whether a folder below a root is a linked worktree of a repository. The
// repository contains the root, or is in it. Such a worktree contains another state of the same
// skills, so no scan enters it.
func LinkedWorktree(root, folder string) bool {
	h, err := pickOpener().folder(folder, false)
	if err != nil {
		return false
	}
	defer h.close()
	in, err := h.lstat(gitLink)
	return err == nil && in.Mode().IsRegular() && linkedWorktree(h, realpath.Of(folder), realpath.Of(root))
}

// linkedWorktree is LinkedWorktree for an open folder with a regular file ".git". The paths are
// real. It returns false for the worktrees of a repository without an index. Such a repository has
// no files of its own, so its worktrees have the only copies.
func linkedWorktree(h handle, at, root string) bool {
	common, linked := commonOf(gitFolder(h, at))
	if !linked {
		return false
	}
	if above := gitFolderAbove(root); above != "" && exists(filepath.Join(above, "index")) {
		if own, _ := commonOf(above); realpath.Same(own, common) {
			return true
		}
	}
	return filepath.Base(common) == gitLink && exists(filepath.Join(common, "index")) && realpath.Inside(root, filepath.Dir(common))
}

// gitFolder returns the folder to which the file ".git" of an open folder leads, or "".
func gitFolder(h handle, at string) string {
	f, err := h.open(gitLink)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxGitLink))
	to, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok || to == "" || strings.ContainsAny(to, "\x00\n") {
		return ""
	}
	if to = filepath.FromSlash(to); !filepath.IsAbs(to) {
		to = filepath.Join(at, to)
	}
	return to
}

// gitFolderAbove returns the git folder of the repository that contains a folder, or "".
func gitFolderAbove(folder string) string {
	chain := Repository(folder)
	top := chain[len(chain)-1]
	h, err := pickOpener().folder(top, false)
	if err != nil {
		return ""
	}
	defer h.close()
	in, err := h.lstat(gitLink)
	switch {
	case err != nil:
		return ""
	case in.Mode().IsRegular():
		return gitFolder(h, top)
	}
	return filepath.Join(top, gitLink)
}

// commonOf returns the folder that all worktrees of a repository share. linked reports whether
// folder belongs to a linked worktree: PATH/worktrees/NAME.
func commonOf(folder string) (common string, linked bool) {
	if above := filepath.Dir(folder); filepath.Base(above) == "worktrees" {
		return filepath.Dir(above), true
	}
	return folder, false
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
