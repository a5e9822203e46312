package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"time"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/distribution/reference"
)

// Failure is the reason why a server could not reach a source at the last poll, or refused its
// release. It is recorded beside the head, for commands that do not connect to the source.
type Failure struct {
	Source string    `json:"source"`
	Reason string    `json:"reason"` // in words, with the fix
	Since  time.Time `json:"since"`
}

func (f *Failure) members() *[]Member { return nil }

func (s *Store) failureFile(source string) string {
	sum := sha256.Sum256([]byte(reference.Normal(source)))
	return s.path(failuresFolder, hex.EncodeToString(sum[:])+".json")
}

// Failure returns the recorded failure of a source, or nil.
func (s *Store) Failure(source string) *Failure {
	var f Failure
	if s.load(s.failureFile(source), &f) != nil || f.Source != reference.Normal(source) {
		return nil
	}
	return &f
}

// SetFailure records the failure of a source; nil removes it.
func (s *Store) SetFailure(source string, f *Failure) error {
	at := s.failureFile(source)
	if f == nil {
		err := edit.Remove(edit.Named(at))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return s.fault(err)
	}
	f.Source = reference.Normal(source)
	if err := s.write(); err != nil {
		return err
	}
	if err := edit.MakeFolder(s.path(failuresFolder), 0o700); err != nil {
		return s.fault(err)
	}
	return s.keep(at, f)
}
