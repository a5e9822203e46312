// Package store keeps remote skills on the disk, each in a folder named by its digest. A skill
// gets that name only after all of its bytes were hashed. The store is a cache: it can be deleted
// at any time.
package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// Options configure a store.
type Options struct {
	// Keep is how long an unused skill stays, at least an hour; 0 means 30 days.
	Keep time.Duration
	// Now is the clock; nil means the system's.
	Now func() time.Time
	// Setting names the setting of the folder in messages: "XDG_CACHE_HOME".
	Setting string
	// Room returns the space of the file system of a folder; nil means [edit.RoomOf].
	Room func(dir string) (s edit.Space, known bool)
	// Shown, if not nil, formats a path for people.
	Shown func(path string) string
}

// Store is a folder of skills. Its methods are safe for concurrent use, and several processes may
// share the folder.
type Store struct {
	dir   string // without links
	named string // as the user named it
	o     Options

	mu     sync.Mutex
	unlock func() // nil until the store is used
	swept  bool
	known  map[skill.Digest]bool // the skills of recorded releases; nil until they are read
	heads  map[string]bool       // the files of the heads that this process requested
	// batches counts the open batches.
	batches int
}

// The names in the store's folder.
const (
	skillsFolder   = "skills"
	layersFolder   = "layers"
	releasesFolder = "releases"
	headsFolder    = "heads"
	failuresFolder = "failures"
	gitFolder      = "git"
	tmpFolder      = "tmp"
	lockName       = "store"   // edit.Lock adds .lock
	sweptName      = "cleaned" // its modification time is the time of the last removal
)

// Skill is a skill of the store.
type Skill struct {
	Digest skill.Digest
	Files  []lockfile.File // by path
}

// Open opens the store in the folder dir, an absolute path. It creates nothing: the first write
// creates the folder.
func Open(dir string, o Options) (*Store, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("the store's folder %s is not an absolute path", dir)
	}
	if o.Keep == 0 {
		o.Keep = 30 * 24 * time.Hour
	}
	o.Keep = max(o.Keep, time.Hour)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Room == nil {
		o.Room = edit.RoomOf
	}
	return &Store{dir: realpath.Of(dir), named: dir, o: o}, nil
}

// Close ends this process's use of the store. Without Close, the store is in use until the process
// ends.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unlock != nil {
		s.unlock()
		s.unlock = nil
	}
	return nil
}

func (s *Store) path(names ...string) string {
	return filepath.Join(append([]string{s.dir}, names...)...)
}

// Folder returns the folder of a skill. Its files are never rewritten. The folder is missing if the
// store lacks the skill.
func (s *Store) Folder(d skill.Digest) string {
	h := hex.EncodeToString(d[:])
	return s.path(skillsFolder, h[:2], h[2:])
}

// write prepares the store for a write, and removes unneeded data.
func (s *Store) write() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := edit.MakeFolder(s.dir, 0o700); err != nil {
		return s.fault(err)
	}
	if !s.swept {
		s.clean()
		s.swept = true
	}
	return s.share()
}

// share keeps other processes from removing data that this one uses. The caller holds s.mu.
func (s *Store) share() (err error) {
	if s.unlock == nil {
		s.unlock, err = edit.Share(s.path(lockName))
		if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK) {
			s.unlock, err = func() {}, nil // no process can lock the store, so none removes its data
		}
	}
	return s.fault(err)
}

// read prepares the store for a read. A read-only store is read without a lock.
func (s *Store) read() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Stat(s.dir); err == nil {
		_ = s.share()
	}
}

// Find returns a skill of the store after hashing its files. If the skill is missing or damaged,
// the error is an [fs.ErrNotExist]. A damaged skill is removed, and a skill that cannot be read
// stays. The digest does not cover executable bits. They come from the first stored skill with this
// digest, and are unknown on Windows.
func (s *Store) Find(d skill.Digest) (Skill, error) {
	s.read()
	dir := s.Folder(d)
	info, err := os.Lstat(dir)
	if err != nil {
		return Skill{}, s.absent(d, err)
	}
	files, err := hashed(dir)
	switch {
	case err != nil && info.IsDir() && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid):
		return Skill{}, s.fault(err) // the skill itself may be undamaged
	case err != nil || lockfile.Digest(files) != d:
		_ = edit.Discard(edit.Named(dir), s.path(tmpFolder)) // it fails if the store is read-only
		return Skill{}, s.absent(d, fs.ErrNotExist)
	}
	s.touch(dir, info)
	return Skill{d, files}, nil
}

// absent returns the error of a skill that is missing from the store.
func (s *Store) absent(d skill.Digest, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "find in the store", Path: d.String(), Err: fs.ErrNotExist}
	}
	return s.fault(err)
}

// touch records the use of a folder in its modification time, to the day.
func (s *Store) touch(dir string, info fs.FileInfo) {
	if now := s.o.Now(); now.Sub(info.ModTime()) > 24*time.Hour {
		_ = edit.Touch(edit.Named(dir), now)
	}
}

// Open opens a file of a skill that [Store.Find] or [Batch.Finish] returned.
func (s *Store) Open(d skill.Digest, path string) (io.ReadCloser, error) {
	f, err := os.OpenInRoot(s.Folder(d), filepath.FromSlash(path))
	if err != nil {
		return nil, s.fault(err)
	}
	return f, nil
}

// hashed reads and hashes a skill's folder. It refuses files that a stored skill cannot have.
func hashed(dir string) (files []lockfile.File, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	left := int64(origin.MaxSize)
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if len(files) == origin.MaxFiles || !d.Type().IsRegular() {
			return fs.ErrInvalid
		}
		f, err := hashedFile(root, path, left)
		left -= f.Size
		files = append(files, f)
		return err
	})
	return files, err
}

func hashedFile(root *os.Root, path string, limit int64) (lockfile.File, error) {
	f, err := root.Open(filepath.FromSlash(path))
	if err != nil {
		return lockfile.File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return lockfile.File{}, err
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, limit+1))
	if err == nil && n > limit {
		err = fs.ErrInvalid
	}
	return lockfile.File{Path: path, Size: n, Digest: skill.Digest(h.Sum(nil)), Exec: info.Mode()&0o100 != 0}, err
}

// Spool returns an empty temporary file for a transfer.
func (s *Store) Spool() (origin.Spool, error) {
	if err := s.write(); err != nil {
		return nil, err
	}
	f, err := edit.NewSpool(s.path(tmpFolder))
	if err != nil {
		return nil, s.fault(err)
	}
	return spool{f, s}, nil
}

// spool is a temporary file with the store's errors. The file is not embedded: its ReadFrom would
// bypass Write.
type spool struct {
	file *edit.Spool
	s    *Store
}

func (p spool) Read(b []byte) (int, error)               { return p.file.Read(b) }
func (p spool) ReadAt(b []byte, at int64) (int, error)   { return p.file.ReadAt(b, at) }
func (p spool) Seek(to int64, whence int) (int64, error) { return p.file.Seek(to, whence) }
func (p spool) Close() error                             { return p.file.Close() }
func (p spool) WriteAt(b []byte, at int64) (int, error) {
	n, err := p.file.WriteAt(b, at)
	return n, p.s.fault(err)
}
func (p spool) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	return n, p.s.fault(err)
}

// GitDir returns the folder of a key's bare repository, and creates it.
func (s *Store) GitDir(key string) (string, error) {
	if err := s.write(); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(key))
	dir := s.path(gitFolder, hex.EncodeToString(sum[:]))
	if err := edit.MakeFolder(realpath.Of(dir), 0o700); err != nil {
		return "", s.fault(err)
	}
	if info, err := os.Stat(dir); err == nil {
		s.touch(dir, info)
	}
	return dir, nil
}
