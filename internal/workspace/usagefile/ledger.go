// Package usagefile stores the counts of usage in a file, across processes.
package usagefile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/server/usage"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

const (
	// interval is the time between two writes. A killed process loses at most the counts of one
	// interval.
	interval = 5 * time.Minute
	// maxSize limits the bytes of the file. The counts of 10,000 skills and five clients need 2 MB.
	maxSize = 32 << 20
	// maxAside limits the number of files set aside.
	maxAside = 100
	// fileMode lets only the operator read the file. An existing file keeps its mode.
	fileMode fs.FileMode = 0o600
	// closeGrace limits how long Close waits for a disk.
	closeGrace = 5 * time.Second
)

var (
	// errOther is returned if another program has written the file meanwhile.
	errOther = errors.New("another program has changed it")
	// errForeign is returned for a file that is not a usage file.
	errForeign  = errors.New("it is not a file of counts")
	errTooLarge = fmt.Errorf("it has more than %d MiB", maxSize>>20)
)

// Ledger writes the counts of a tally to a file at intervals. A server starts even if the file is
// unusable: the tally then counts in memory, the log contains the reason, and each interval tries
// the file again.
type Ledger struct {
	path  string
	tally *usage.Tally
	log   *slog.Logger

	unlock  func()            // nil until the file is locked
	read    bool              // the file was restored, or did not exist
	written [sha256.Size]byte // hash of the file's content when it was last read or written
	there   bool              // the file existed then
	trouble string            // the last reason logged

	ending chan struct{}
	ended  chan struct{}
}

// Open restores the counts of the file at path, if any, and keeps the file up to date until
// [Ledger.Close]. It does not wait for the disk.
func Open(path string, t *usage.Tally, log *slog.Logger) *Ledger {
	l := &Ledger{path: path, tally: t, log: log, ending: make(chan struct{}), ended: make(chan struct{})}
	t.Keep(usage.InFile)
	go l.run()
	return l
}

func (l *Ledger) run() {
	defer close(l.ended)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		l.keep()
		select {
		case <-tick.C:
			continue
		case <-l.ending:
		}
		if !l.keep() {
			l.log.Error("the last counts of usage are lost, since the usage file cannot be used", "file", l.path)
		}
		if l.unlock != nil {
			l.unlock()
		}
		return
	}
}

// Close writes the counts and releases the file, unless the disk hangs. A nil ledger has nothing to
// write.
func (l *Ledger) Close() {
	if l == nil {
		return
	}
	close(l.ending)
	select {
	case <-l.ended:
	case <-time.After(closeGrace):
		l.log.Error("the usage file is not up to date", "file", l.path, "reason", "the disk does not answer")
	}
}

// keep restores and writes the file, and logs when that begins to fail and when it succeeds again.
// It reports whether the file is up to date.
func (l *Ledger) keep() bool {
	err := l.begin()
	if err == nil {
		err = l.write()
	}
	if err == nil {
		if l.tally.Keep(usage.InFile); l.trouble != "" {
			l.log.Warn("the usage file is written again", "file", l.path)
		}
		l.trouble = ""
		return true
	}
	l.tally.Keep(usage.Failing)
	if reason, fix := wordsOf(err); reason != l.trouble {
		l.trouble = reason
		l.log.Error("the usage file cannot be used, and the counts are in memory alone until it can", "file", l.path, "reason", reason, "fix", fix)
	}
	return false
}

// wordsOf returns the reason that the file cannot be used, and the fix.
func wordsOf(err error) (reason, fix string) {
	reason = cause(err).Error()
	switch {
	case errors.Is(err, edit.ErrLocked):
		return "another server uses it", "give each server a file of its own"
	case errors.Is(err, errOther):
		return reason, "restart the server, which reads the file again"
	case errors.Is(err, fs.ErrPermission):
		return reason, "let the user who runs knack write to the file and to its folder"
	case errors.Is(err, edit.ErrIrregular), errors.Is(err, skill.ErrNotRegular):
		return reason, "name a file in usage.file"
	case errors.Is(err, errForeign):
		return reason, "name another file in usage.file, or remove this one"
	case errors.Is(err, errTooLarge):
		return reason, "stop the server, and rename the file to begin anew"
	}
	return reason, "check the file, its folder and its disk"
}

// cause returns the underlying error of a path error, without the path.
func cause(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// begin locks the file and restores its counts, once.
func (l *Ledger) begin() error {
	if l.unlock == nil {
		unlock, err := edit.Lock(edit.Named(l.path))
		if err != nil {
			return err
		}
		l.unlock = unlock
	}
	if l.read {
		return nil
	}
	data, err := settings.ReadNamed(l.path, maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		l.read = true
		return nil
	}
	if err != nil {
		return err
	}
	if len(data) > maxSize {
		err = errTooLarge
	} else if len(bytes.TrimSpace(data)) > 0 { // an administrator may create an empty file to set its mode
		err = l.tally.Restore(data)
	}
	if err != nil && !hasCounts(data) {
		return errForeign
	}
	if err != nil {
		aside, failed := l.setAside()
		if failed != nil {
			return fmt.Errorf("%w, and it cannot be renamed: %s", err, cause(failed))
		}
		l.log.Error("the usage file has no counts that can be read; it was renamed, and counting begins anew", "file", l.path, "reason", err.Error(), "now", aside)
		l.read = true
		return nil
	}
	l.read, l.there, l.written = true, true, sha256.Sum256(data)
	return nil
}

// hasCounts reports whether data is a file of counts, or its remains after a crash: its beginning,
// or zeros. Any other file, such as the settings, a key or the audit log, is named in usage.file by
// mistake.
func hasCounts(data []byte) bool {
	begin := []byte(`{"version":`)
	data = bytes.TrimSpace(data)
	return bytes.HasPrefix(data, begin) || bytes.HasPrefix(begin, data) || data[0] == 0
}

// setAside renames the file, so that a person can still repair it.
func (l *Ledger) setAside() (to string, err error) {
	for n := range maxAside {
		to = filepath.Base(l.path) + ".bak"
		if n > 0 {
			to += fmt.Sprint(n)
		}
		if err = edit.Rename(edit.Named(l.path), to); !errors.Is(err, edit.ErrExists) {
			return to, err
		}
	}
	return "", err
}

// write writes the counts if they have changed since the last time.
func (l *Ledger) write() error {
	data := l.tally.Encode()
	if len(data) > maxSize {
		return errTooLarge
	}
	sum := sha256.Sum256(data)
	if !l.there {
		if err := edit.Create(edit.Named(l.path), data, fileMode); err != nil {
			return err
		}
		l.there, l.written = true, sum
		return nil
	}
	old, err := settings.ReadNamed(l.path, maxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.there = false
		return l.write()
	case err != nil:
		return err
	case sha256.Sum256(old) != l.written:
		return errOther
	}
	if sum == l.written {
		return nil
	}
	if err := edit.Replace(edit.Named(l.path), old, data); err != nil {
		return err
	}
	l.written = sum
	return nil
}
