package dir

import (
	"io/fs"
	"sync"

	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/skill"
)

// child is an entry of a folder that a scan needs: a folder, a link, a SKILL.md in any spelling, a
// file with a similar name, or an entry that is not a regular file.
type child struct {
	name                  string
	folder, link, regular bool
}

// reader has one worker's buffers for reading folders and files repeatedly.
type reader struct {
	entries []byte      // entries of a folder, as the system returned them
	stamp   skill.Stamp // of the folder
	found   []child     // of the folder being visited
	texts   bool        // also keep files that may be links stored as text
	git     bool        // the folder has a regular file ".git"
	file    []byte
}

// readers are reused from one level to the next.
var readers = sync.Pool{New: func() any { return new(reader) }}

// children opens a folder and reads the entries that a scan needs, in no order. The entries are
// valid until the next call. The caller closes the handle if it is not nil, even after an error.
func (r *reader) children(top handle, sub string) (handle, []child, error) {
	r.found, r.stamp, r.git = r.found[:0], skill.Stamp{}, false
	if q, ok := top.(fastHandle); ok {
		return q.children(sub, r)
	}
	h, raw, err := top.list(sub, -1)
	for _, e := range raw {
		r.add(childOf(e))
	}
	return h, r.found, err
}

// fastHandle is a handle that can skip the entries that a scan does not need.
type fastHandle interface {
	handle
	children(sub string, r *reader) (handle, []child, error)
	// read reads a regular file that was just examined, like [skill.ReadFile] but
	// without its retries. The bytes are valid until the next call.
	read(name string, limit int64, buf []byte) ([]byte, skill.Stamp, error)
}

// add keeps an entry if a scan needs it.
func (r *reader) add(c child) {
	r.git = r.git || c.regular && c.name == gitLink
	if !c.unused() || r.texts && c.mayBeLink() {
		r.found = append(r.found, c)
	}
}

func childOf(e fs.DirEntry) child {
	t := e.Type()
	return child{e.Name(), e.IsDir(), realpath.IsLink(t), t.IsRegular()}
}

// unused reports whether a scan does not need an entry.
func (c child) unused() bool {
	return c.name == gitLink || c.name == "node_modules" || c.regular && !skill.IsEntryNameInAnyCase(c.name) && !typo.IsMainFile(c.name)
}

func spellings(children []child) []string {
	var out []string
	for _, c := range children {
		if skill.IsEntryNameInAnyCase(c.name) {
			out = append(out, c.name)
		}
	}
	return out
}

// choose returns which of the sorted spellings of SKILL.md is served, and the others.
func choose(spellings []string) (entry string, others []string) {
	for _, want := range skill.EntryNames {
		for i, have := range spellings {
			if have == want {
				others = append(others, spellings[:i]...)
				return want, append(others, spellings[i+1:]...) // a constant, so that all skills share one string
			}
		}
	}
	return "", spellings
}
