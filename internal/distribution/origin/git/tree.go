package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/plugin"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// tree lists the files of a commit, with the hash of each.
type tree struct {
	entries []origin.Node
	ids     []string
}

// Bounds of a tree. A few hundred bytes can name a tree of any size, so the listed entries are
// counted.
const (
	maxListed  = 10_000_000
	keptWhole  = 100_000   // up to this size the whole tree is kept
	maxKept    = 1_000_000 // entries in the folders of skills
	maxFolders = 200_000   // of skills
	maxEntry   = 64 << 10  // of one entry, in bytes
)

var errTree = errors.New("the list of its files is not in the form of git")

// tree lists the files below a folder. It keeps only files of possible skills if the tree is
// large.
func (b *bare) tree(ctx context.Context, commit, sub string) (*tree, error) {
	t, count := &tree{}, 0
	c := candidates{}
	err := b.list(ctx, commit, sub, func(e origin.Node, id string) error {
		if count++; count > maxListed {
			return fmt.Errorf("it has more than %s files: name a folder of it", display.Thousands(maxListed))
		}
		c.note(e.Path)
		if count <= keptWhole {
			t.add(e, id)
		}
		if len(c) > maxFolders {
			return fmt.Errorf("it has more than %s skills: name a folder of it", display.Thousands(maxFolders))
		}
		return nil
	})
	if err != nil || count <= keptWhole {
		return t, err
	}
	t = &tree{}
	return t, b.list(ctx, commit, sub, func(e origin.Node, id string) error {
		if c.keep(e.Path) || e.Type == origin.Submodule || origin.MayLeadToSkills(e) || e.Path == modulesFile || slices.ContainsFunc(plugin.Marketplaces, func(f plugin.File) bool { return path.Join(sub, f.Path) == e.Path }) {
			t.add(e, id)
		}
		if len(t.ids) > maxKept {
			return fmt.Errorf("its skills have more than %s files: name a folder of it", display.Thousands(maxKept))
		}
		return nil
	})
}

func (t *tree) add(e origin.Node, id string) {
	e.Path = strings.Clone(e.Path)
	t.entries = append(t.entries, e)
	t.ids = append(t.ids, strings.Clone(id))
}

// candidates are the folders that may be skills, because they have an entry named SKILL.md.
type candidates map[string]*candidate

type candidate struct {
	files  int
	hidden string // the last dot-entry
}

func (c candidates) note(p string) {
	for start := 0; start < len(p); {
		name, _, more := strings.Cut(p[start:], "/")
		if skill.IsEntryNameInAnyCase(name) {
			folder := path.Clean(p[:start])
			if c[folder] == nil {
				c[strings.Clone(folder)] = &candidate{}
			}
		}
		if !more {
			return
		}
		start += len(name) + 1
	}
}

// keep reports whether to keep an entry. It keeps one file more than a skill may have, which is
// enough to refuse the skill, and one file of each dot-entry.
func (c candidates) keep(p string) bool {
	folder := p
	var holder *candidate
	for holder == nil && folder != "." {
		folder = path.Dir(folder)
		holder = c[folder]
	}
	if holder == nil {
		return false
	}
	below := p
	if folder != "." {
		below = p[len(folder)+1:]
	}
	if hidden := origin.HiddenPart(below); hidden != "" {
		if hidden == holder.hidden {
			return false
		}
		holder.hidden = strings.Clone(hidden)
		return true
	}
	holder.files++
	return holder.files <= origin.MaxFiles+1 || skill.IsEntryNameInAnyCase(path.Base(p))
}

// list calls take for each entry of a commit except folders. The arguments are valid until take
// returns.
func (b *bare) list(ctx context.Context, commit, sub string, take func(e origin.Node, id string) error) error {
	args := []string{"ls-tree", "-r", "-z", "--full-tree", commit}
	if sub != "" {
		args = append(args, "--", sub)
	}
	return b.local(ctx, nil, func(out io.Reader) error {
		in := bufio.NewReaderSize(out, maxEntry)
		for {
			line, err := in.ReadSlice(0)
			switch {
			case errors.Is(err, io.EOF) && len(line) == 0:
				return nil
			case errors.Is(err, bufio.ErrBufferFull):
				return fmt.Errorf("it has a path of more than %d KiB", maxEntry>>10)
			case err != nil:
				return errTree
			}
			head, name, ok := bytes.Cut(line[:len(line)-1], []byte("\t"))
			fields := bytes.Fields(head)
			if !ok || len(fields) != 3 || !isCommit(string(fields[2])) {
				return errTree
			}
			if err := take(origin.Node{Path: string(name), Size: -1, Type: typeOf(string(fields[0]))}, string(fields[2])); err != nil {
				return err
			}
		}
	}, args...)
}

func typeOf(mode string) origin.NodeType {
	switch mode {
	case "100644", "100664":
		return origin.Regular
	case "100755":
		return origin.Exec
	case "120000":
		return origin.Link
	case "160000":
		return origin.Submodule
	}
	return origin.Other
}
