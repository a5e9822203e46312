package client

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/knack-dev/knack/edit"
)

// maxFile bounds the files that are read, in bytes: hundreds of times the largest
// settings file that was seen.
const maxFile = 16 << 20

// Here reports whether the client is used on this machine.
func (c Client) Here(p Places) bool {
	for _, at := range c.Signs(p) {
		if at == "" {
			continue
		}
		if _, err := os.Stat(filepath.FromSlash(at)); err == nil {
			return true
		}
	}
	return false
}

// Change is what [Client.Write] would do, or has done.
type Change struct {
	File    string // the file itself, where the client's path is a link to it
	Before  []byte // nil where there is no file yet
	After   []byte
	Backup  string // where the file's bytes from before were kept, after [Change.Write]
	existed bool
	mode    fs.FileMode
}

// Changed reports whether there is anything to write.
func (c Change) Changed() bool { return !c.existed || !bytes.Equal(c.Before, c.After) }

// Plan reads the client's file and merges the entry into its bytes.
func (c Client) Plan(p Places, s Server) (Change, error) {
	at := c.File(p)
	if at == "" {
		return Change{}, errors.New("the folder of its file is not known")
	}
	ch := Change{File: filepath.FromSlash(at), mode: 0o600}
	if c.Project {
		ch.mode = 0o644 // colleagues read it too
	}
	if real, err := filepath.EvalSymlinks(ch.File); err == nil {
		ch.File = real // settings are often links into a folder under version control
	}
	info, err := os.Stat(ch.File)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return ch, errors.New("it is no regular file")
	case err == nil && info.Size() > maxFile:
		return ch, fmt.Errorf("it has %d bytes, and knack changes files up to %d", info.Size(), maxFile)
	case err == nil:
		ch.existed, ch.mode = true, info.Mode().Perm()
		if ch.Before, err = os.ReadFile(ch.File); err != nil {
			return ch, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return ch, err
	}
	if _, err := os.Lstat(ch.File); err == nil && !ch.existed {
		return ch, errors.New("it is a link that leads nowhere")
	}
	ch.After, err = c.Merge(ch.Before, s)
	return ch, err
}

// Write puts the bytes in the file's place in one step, and keeps the ones from
// before beside it. A file that has changed since it was read is left alone.
func (ch *Change) Write() error {
	switch {
	case !ch.Changed():
		return nil
	case !ch.existed:
		return edit.Create(ch.File, ch.After, ch.mode)
	}
	kept, err := edit.Backup(ch.File, ch.Before)
	if err != nil {
		return err
	}
	if err := edit.Replace(ch.File, ch.Before, ch.After); err != nil {
		return errors.Join(err, os.Remove(kept)) // nothing has changed that it would be a backup of
	}
	ch.Backup = kept
	return nil
}
