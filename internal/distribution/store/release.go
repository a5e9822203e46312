package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/base/sorting"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/reference"
	"github.com/knack-dev/knack/skill"
)

// Release is a library of skills as a source had it. The store has all of its skills. Its record has
// what the digest covers, which is the same for every source that has the release.
type Release struct {
	// Digest names the release: "sha256:" and 64 digits. For a registry it is that of the
	// manifest.
	Digest string `json:"digest"`
	// Revision is what the source calls it: see [origin.Revision].
	Revision string    `json:"revision,omitempty"`
	Layers   []string  `json:"layers,omitempty"` // the digests of its layers, if these are kept apart
	Skills   []Member  `json:"-"`                // by path
	At       time.Time `json:"at"`               // when it was pulled last
	// Judged is recorded with the head of a source: see [Head.Of].
	Judged `json:"-"`
}

// Judged is what one source says of a release, and what was found of its signature there. The
// digest of the release does not cover it.
type Judged struct {
	Version string `json:"version,omitempty"`
	// Signer is "key:" and the digest of the key that signed it, and Signature the state that its
	// signature was found in, when it was judged.
	Signer    string `json:"signer,omitempty"`
	Signature string `json:"signature,omitempty"`
}

// Member is a skill of a release.
type Member struct {
	Path  string // within the release, "." for the release itself
	Skill skill.Digest
	// Main is the skill's main file as it is spelt there, and MainDigest its digest, so that a server
	// that starts reads this file alone. Both are zero if the skill has none that is served.
	Main       string
	MainDigest skill.Digest
	// Fault says why the store does not have it: a link in it, too many files. Skill is zero then.
	Fault string
}

// Member returns the skill as a member of a release, in a folder.
func (k Skill) Member(path string) Member {
	m := Member{Path: path, Skill: k.Digest}
	for _, name := range skill.EntryNames {
		if i := slices.IndexFunc(k.Files, func(f lockfile.File) bool { return f.Path == name }); i >= 0 {
			m.Main, m.MainDigest = name, k.Files[i].Digest
			break
		}
	}
	return m
}

// Head is the release of a source that is served.
type Head struct {
	Source   string    `json:"source"`
	Release  string    `json:"release"`
	Previous string    `json:"previous,omitempty"` // the release that was served before
	Since    time.Time `json:"since"`
	Judged             // of the release
	// Highest has the highest version that was served, by signer; the key is "" for releases
	// without a verified signature.
	Highest map[string]string `json:"highest,omitempty"`
	// Past has the releases before, newest first: one of them is served if the rules refuse the head.
	Past []Past `json:"past,omitempty"`
}

// Past is a release that was the head, with what was judged of it.
type Past struct {
	Release string `json:"release"`
	Judged
}

// Of returns the release of the head with what was judged of it for the head's source.
func (h Head) Of(r Release) Release {
	r.Judged = h.Judged
	return r
}

// Folder returns where a skill of a release is. Its files are never written again. The folder is
// missing if the skill was removed since it was recorded.
func (s *Store) Folder(d skill.Digest) string { return s.folder(d) }

// Holds reports whether the folder of a skill is there. Its files are not read.
func (s *Store) Holds(d skill.Digest) bool {
	info, err := os.Lstat(s.folder(d))
	return err == nil && info.IsDir()
}

// Whole reports whether the folders of all skills of a release are there. Their files are not read.
func (s *Store) Whole(r Release) bool {
	gone := func(m Member) bool { return m.Fault == "" && !s.Holds(m.Skill) }
	first, second := r.Skills[:len(r.Skills)/2], r.Skills[len(r.Skills)/2:]
	other := make(chan bool, 1)
	go func() { other <- slices.ContainsFunc(first, gone) }()
	return !slices.ContainsFunc(second, gone) && !<-other
}

// Dir returns the store's folder.
func (s *Store) Dir() string { return s.dir }

// Room returns how many bytes the user may still write to the store's file system, if the system
// tells it.
func (s *Store) Room() (bytes int64, known bool) { return edit.Room(s.dir) }

// Release returns the record of a release. If there is none, or none that can be read, the error is
// an [fs.ErrNotExist]. The folders of its skills are not looked at. What a source has judged of it is
// with the source's head: see [Head.Of].
func (s *Store) Release(digest string) (r Release, err error) {
	s.read()
	at, err := s.releaseFile(digest)
	if err == nil {
		err = s.load(at, &r)
	}
	if err == nil && r.Digest != digest {
		err = &fs.PathError{Op: "read", Path: at, Err: fs.ErrNotExist}
	}
	if err != nil {
		return Release{}, err
	}
	return r, nil
}

func (s *Store) releaseFile(digest string) (string, error) {
	d, err := skill.ParseDigest(digest)
	if err != nil {
		return "", fmt.Errorf("a release has no digest: %w", err)
	}
	return s.at(releasesFolder, hex.EncodeToString(d[:])+".json"), nil
}

// Record makes the skills of a release survive a crash, and then records it. A skill that the store
// does not have is an [fs.ErrNotExist].
func (s *Store) Record(r Release) error {
	at, err := s.releaseFile(r.Digest)
	if err != nil {
		return err
	}
	if err := s.write(); err != nil {
		return err
	}
	sorting.Func(r.Skills, func(a, b Member) int { return cmp.Compare(a.Path, b.Path) })
	folders := []string{s.at(layersFolder)}
	for i, m := range r.Skills {
		if i > 0 && r.Skills[i-1].Path == m.Path {
			return fmt.Errorf("the release %s has two skills in %s", r.Digest, m.Path)
		}
		if m.Fault != "" {
			continue
		}
		dir := s.folder(m.Skill)
		if _, err := os.Lstat(dir); err != nil {
			return s.absent(m.Skill, err)
		}
		if !s.isRecorded(m.Skill) {
			folders = append(folders, dir)
		}
	}
	if err := edit.MakeFolder(realpath.Of(s.at(layersFolder)), 0o700); err != nil {
		return s.fault(err)
	}
	if err := edit.SyncFolders(s.dir, folders); err != nil {
		return s.fault(err)
	}
	if err := s.keep(at, &r); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range r.Skills {
		if m.Fault == "" {
			s.known[m.Skill] = true
		}
	}
	return nil
}

// isRecorded reports whether a recorded release names a skill, which was synced then.
func (s *Store) isRecorded(d skill.Digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[skill.Digest]bool{}
		for _, r := range s.releases() {
			for _, m := range r.Skills {
				if m.Fault == "" {
					s.known[m.Skill] = true
				}
			}
		}
	}
	return s.known[d]
}

// releases returns the recorded releases that can be read.
func (s *Store) releases() (all []Release) {
	for name := range s.records(releasesFolder) {
		var r Release
		if s.load(s.at(releasesFolder, name), &r) == nil && r.Digest+".json" == "sha256:"+name {
			all = append(all, r)
		}
	}
	return all
}

// Head returns the release of a source that is served. If there is none, the error is an
// [fs.ErrNotExist]; if there was one that cannot be read, a [*Fault].
func (s *Store) Head(source string) (h Head, err error) {
	s.read()
	source = reference.Normal(source)
	at := s.headFile(source)
	if _, failed := os.Stat(at); errors.Is(failed, fs.ErrNotExist) {
		at = s.headSpelled(source, at)
	}
	if err = s.load(at, &h); err == nil && reference.Normal(h.Source) != source {
		err = &fs.PathError{Op: "read", Path: at, Err: fs.ErrNotExist}
	}
	switch info, failed := os.Stat(at); {
	case failed != nil:
	case err == nil:
		s.touch(at, info)
	case errors.Is(err, fs.ErrNotExist):
		err = s.fault(fmt.Errorf("the record of what was served last is damaged: remove %s to begin anew", filepath.Base(filepath.Dir(at))+"/"+filepath.Base(at)))
	}
	if err != nil {
		return Head{}, err
	}
	return h, nil
}

// headSpelled returns the file of a head that an older knack recorded under another spelling of its
// source, or else at.
func (s *Store) headSpelled(source, at string) string {
	for name := range s.records(headsFolder) {
		var h Head
		if old := s.at(headsFolder, name); s.load(old, &h) == nil && reference.Normal(h.Source) == source {
			s.mu.Lock()
			s.heads[name] = true
			s.mu.Unlock()
			return old
		}
	}
	return at
}

func (s *Store) headFile(source string) string {
	sum := sha256.Sum256([]byte(source))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heads == nil {
		s.heads = map[string]bool{}
	}
	name := hex.EncodeToString(sum[:]) + ".json"
	s.heads[name] = true
	return s.at(headsFolder, name)
}

// SetHead records which release of a source is served. The release was recorded before. The one
// that was served stays in the store for as long as it keeps what is not used.
func (s *Store) SetHead(source string, h Head) error {
	h.Source = reference.Normal(source)
	at, err := s.releaseFile(h.Release)
	if err != nil {
		return err
	}
	if _, err := os.Stat(at); err != nil {
		return s.fault(err)
	}
	if err := s.write(); err != nil {
		return err
	}
	if err := s.keep(s.headFile(h.Source), &h); err != nil {
		return err
	}
	now := s.o.Now()
	for _, digest := range []string{h.Release, h.Previous} {
		if at, err := s.releaseFile(digest); err == nil {
			_ = edit.Touch(edit.Named(at), now) // it was served until now
		}
	}
	return nil
}

// Remove removes a skill whose files are no longer what its digest says. The next pull of a
// release with it fetches it again.
func (s *Store) Remove(d skill.Digest) error {
	if err := s.write(); err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.known, d)
	s.mu.Unlock()
	err := edit.Discard(edit.Named(s.folder(d)), s.at(tmpFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.fault(err)
}

// Files calls visit for each file of a skill, by path. It hashes nothing: the caller compares.
func (s *Store) Files(d skill.Digest, visit func(path string, exec bool, size int64, content io.Reader) error) error {
	s.read()
	root, err := os.OpenRoot(s.folder(d))
	if err != nil {
		return s.absent(d, err)
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if !e.Type().IsRegular() {
			return &fs.PathError{Op: "read", Path: path, Err: fs.ErrInvalid}
		}
		f, err := root.Open(filepath.FromSlash(path))
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return visit(path, info.Mode()&0o100 != 0, info.Size(), f)
	})
}
