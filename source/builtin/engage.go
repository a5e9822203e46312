package builtin

import (
	"bytes"
	"embed"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// parts holds the text of engage: a head, a tail, and between them a part for each tool
// set, named after the set. A part begins with its row of the head's table.
//
//go:embed engage
var parts embed.FS

// defaultSet is the tool set of a server without --tools.
const defaultSet = "default"

// engageText returns the text for a server with these tool sets. It names only their tools,
// since a tool that an agent does not have would mislead it.
func engageText(sets []string) string {
	if len(sets) == 0 {
		sets = []string{defaultSet}
	}
	var rows, sections strings.Builder
	for i, set := range sets {
		if slices.Contains(sets[:i], set) || set == "universal" && slices.Contains(sets, defaultSet) {
			continue // the default set has that tool too
		}
		row, section, _ := strings.Cut(part(set), "\n")
		rows.WriteString(row + "\n")
		sections.WriteString(section)
	}
	return part("head") + rows.String() + sections.String() + part("tail")
}

// part returns one of the parts, or "" for a set without one.
func part(name string) string {
	data, err := parts.ReadFile("engage/" + name + ".md")
	if err != nil {
		return ""
	}
	return string(data)
}

// engageFS is the folder of engage, with one file, which New makes.
type engageFS struct{ text string }

var _ fs.ReadDirFS = engageFS{}

// Open opens the folder or its file.
func (f engageFS) Open(name string) (fs.File, error) {
	switch name {
	case ".":
		return &openFolder{engageFS: f}, nil
	case entry:
		return &openFile{engageInfo: engageInfo{len(f.text)}, Reader: bytes.NewReader([]byte(f.text))}, nil
	}
	err := fs.ErrNotExist
	if !fs.ValidPath(name) {
		err = fs.ErrInvalid
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: err}
}

// ReadDir lists the folder.
func (f engageFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "." {
		return []fs.DirEntry{fs.FileInfoToDirEntry(engageInfo{len(f.text)})}, nil
	}
	_, err := f.Open(name)
	if err == nil {
		err = &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	return nil, err
}

type openFile struct {
	engageInfo
	*bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.engageInfo, nil }
func (f *openFile) Close() error               { return nil }
func (f *openFile) Size() int64                { return f.engageInfo.Size() }

type openFolder struct {
	engageFS
	read bool
}

func (f *openFolder) Stat() (fs.FileInfo, error) { return engageInfo{-1}, nil }
func (f *openFolder) Close() error               { return nil }

func (f *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: ".", Err: fs.ErrInvalid}
}

func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if f.read {
		if n > 0 {
			return nil, io.EOF
		}
		return nil, nil
	}
	f.read = true
	return f.engageFS.ReadDir(".")
}

// engageInfo describes the file by its size, and the folder if that is negative.
type engageInfo struct{ size int }

func (i engageInfo) Name() string {
	if i.IsDir() {
		return "."
	}
	return entry
}

func (i engageInfo) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

func (i engageInfo) Size() int64      { return int64(max(i.size, 0)) }
func (engageInfo) ModTime() time.Time { return time.Time{} }
func (i engageInfo) IsDir() bool      { return i.size < 0 }
func (engageInfo) Sys() any           { return nil }
