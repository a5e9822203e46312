package approvecmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/skill"
)

// loadedSkill is a skill whose files were read once. The same bytes are thus scanned, approved and
// stored.
type loadedSkill struct {
	manifest []skill.File
	files    memoryFiles
	fields   map[string]skill.Digest // digests of the frontmatter's fields
}

// loadSkill reads the files of a skill.
func loadSkill(ctx context.Context, e *catalog.Entry) (*loadedSkill, error) {
	files, err := e.Manifest(ctx, nil)
	switch {
	case ctx.Err() != nil:
		return nil, workspace.Interrupted(ctx.Err())
	case errors.Is(err, skill.ErrTooLarge):
		return nil, command.Fail(command.No, fmt.Errorf("%s has more than %d files or 16 MiB, so that it cannot be approved", e.Name, skill.MaxFiles), "remove files that do not belong to the skill")
	case err != nil:
		return nil, command.RunError("check the files of the skill", "%s cannot be approved: %s", e.Name, skill.Reason(err))
	}
	h := &loadedSkill{manifest: files, files: memoryFiles{}}
	for _, f := range files {
		data, _, err := e.ReadServed(f.Path, skill.MaxFile)
		if err == nil && skill.DigestOf(data) != f.Digest {
			err = skill.ErrUnstable
		}
		if err != nil {
			return nil, command.RunError("run the command again", "%s cannot be approved: %s: %s", e.Name, display.Quote(f.Path), skill.Reason(err))
		}
		h.files[f.Path] = data
	}
	h.fields = fieldDigests(e.Parsed(h.files[skill.MainFile], skill.Stamp{}).Frontmatter)
	return h, nil
}

// contents returns the files in the form for the store.
func (h *loadedSkill) contents(k *skill.Skill) map[string]content {
	all := map[string]content{}
	for path, data := range h.files {
		info, err := fs.Stat(k.FS, k.OnDisk(path))
		all[path] = content{data: data, executable: err == nil && info.Mode()&0o100 != 0}
	}
	return all
}

// fieldDigests returns the digest of each field of a frontmatter, given as a JSON object.
func fieldDigests(frontmatter json.RawMessage) map[string]skill.Digest {
	var raw map[string]json.RawMessage
	_ = json.Unmarshal(frontmatter, &raw) // a skill without frontmatter has no fields
	all := map[string]skill.Digest{}
	for name, value := range raw {
		all[name] = skill.DigestOf(value)
	}
	return all
}

// factsByName returns facts by their JSON names.
func factsByName(f scan.Facts) map[string][]string {
	data, err := json.Marshal(f)
	all := map[string][]string{}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		panic(err) // lists of strings always encode
	}
	return all
}

// factsNamed is the inverse of factsByName. It drops unknown names.
func factsNamed(all map[string][]string) (f scan.Facts) {
	data, err := json.Marshal(all)
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		panic(err)
	}
	return f
}

// memoryFiles is an in-memory file system.
type memoryFiles map[string][]byte

// Open implements [fs.FS].
func (h memoryFiles) Open(name string) (fs.File, error) {
	data, ok := h[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &memoryFile{bytes.NewReader(data), name}, nil
}

// memoryFile is an open file of memoryFiles. It is its own [fs.FileInfo].
type memoryFile struct {
	*bytes.Reader
	name string
}

func (f *memoryFile) Stat() (fs.FileInfo, error) { return f, nil }
func (*memoryFile) Close() error                 { return nil }
func (f *memoryFile) Name() string               { return filepath.Base(f.name) }
func (*memoryFile) Mode() fs.FileMode            { return 0o400 }
func (*memoryFile) ModTime() time.Time           { return time.Time{} }
func (*memoryFile) IsDir() bool                  { return false }
func (*memoryFile) Sys() any                     { return nil }
