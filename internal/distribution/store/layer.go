package store

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/skill"
)

// Layer records the contents of a release's layer. Layers of a release share no skill.
type Layer struct {
	Digest string   `json:"digest"`
	Skills []Member `json:"-"` // by path
}

// Layer returns the record of a layer if the store has all of its skills. Otherwise the error is
// an [fs.ErrNotExist], and the layer must be fetched. A skill that no recorded release names is
// hashed, since a crash can have left it incomplete.
func (s *Store) Layer(digest string) (l Layer, err error) {
	s.read()
	at, err := s.layerFile(digest)
	if err != nil {
		return Layer{}, err
	}
	if err := s.load(at, &l); err != nil {
		return Layer{}, err
	}
	if l.Digest != digest {
		return Layer{}, &fs.PathError{Op: "read", Path: at, Err: fs.ErrNotExist}
	}
	for _, m := range l.Skills {
		switch {
		case m.Fault != "":
		case s.isRecorded(m.Skill):
			_, err = os.Lstat(s.Folder(m.Skill))
		default:
			_, err = s.Find(m.Skill)
		}
		if err != nil {
			return Layer{}, s.absent(m.Skill, err)
		}
	}
	return l, nil
}

func (s *Store) layerFile(digest string) (string, error) {
	d, err := skill.ParseDigest(digest)
	if err != nil {
		return "", fmt.Errorf("a layer has no digest: %w", err)
	}
	return s.path(layersFolder, hex.EncodeToString(d[:])+".json"), nil
}

// Layer records the contents of a layer after all of its skills are finished. The record is not
// synced: [Store.Record] does so once for all layers of a release.
func (b *Batch) Layer(l Layer) error {
	at, err := b.s.layerFile(l.Digest)
	if err != nil {
		return err
	}
	data, err := sealed(&l)
	if err != nil {
		return err
	}
	b.mu.Lock()
	part := strconv.Itoa(b.parts) + ".json"
	b.parts++
	b.mu.Unlock()
	if _, _, err := b.tree.File(part, false, bytes.NewReader(data), maxRecord); err != nil {
		return b.s.fault(err)
	}
	for range 3 { // another process may record the same layer
		if err = edit.Remove(edit.Named(at)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err = b.tree.MovePart(part, edit.Named(at)); !errors.Is(err, edit.ErrExists) {
			break
		}
	}
	return b.s.fault(err)
}
