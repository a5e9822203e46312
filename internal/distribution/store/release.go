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
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/reference"
	"github.com/knack-dev/knack/skill"
)

// Release has all skills of a source at one moment. The store has the skills of a recorded release,
// except each member with a [Member.Fault]. Several sources may share one release and its record.
// So the record does not contain [Judged].
type Release struct {
	// Digest identifies the release: "sha256:" and 64 digits. For a registry it is the manifest's
	// digest.
	Digest string `json:"digest"`
	// Revision is the source's name of the release: see [origin.Revision].
	Revision string    `json:"revision,omitempty"`
	Layers   []string  `json:"layers,omitempty"` // the digests of its layers, if they are recorded separately
	Skills   []Member  `json:"-"`                // by path
	At       time.Time `json:"at"`               // the time of the last pull
	// Judged is recorded with the head of a source: see [Head.Of].
	Judged `json:"-"`
}

// Judged has the version that one source states for a release, and the result of checking the
// release's signatures. The digest of the release does not cover these fields.
type Judged struct {
	Version string `json:"version,omitempty"`
	// Signer is "key:" and the digest of the signing key. Signature is the state of the signature
	// when it was checked.
	Signer    string `json:"signer,omitempty"`
	Signature string `json:"signature,omitempty"`
}

// Member is a skill of a release.
type Member struct {
	Path  string // within the release, "." for the release itself
	Skill skill.Digest
	// Main is the name of the skill's main file, and MainDigest is its digest. A server that starts
	// reads only this file. Both are zero if no main file is served.
	Main       string
	MainDigest skill.Digest
	// Fault is the reason why the store lacks the skill, such as a link or too many files. In that
	// case, Skill is zero.
	Fault string
}

// Member returns the skill as the member of a release at path.
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

// Head is the served release of a source.
type Head struct {
	Source   string    `json:"source"`
	Release  string    `json:"release"`
	Previous string    `json:"previous,omitempty"` // the release served before
	Since    time.Time `json:"since"`
	Judged             // about the release
	// Highest maps each signer to the highest version that was served; the key is "" for releases
	// without a verified signature.
	Highest map[string]string `json:"highest,omitempty"`
	// Past has the earlier releases, newest first. One of them is served if the rules refuse the
	// head.
	Past []Past `json:"past,omitempty"`
}

// Past is a release that was the head, with its judgement.
type Past struct {
	Release string `json:"release"`
	Judged
}

// Of returns r with the judgement of the head.
func (h Head) Of(r Release) Release {
	r.Judged = h.Judged
	return r
}

// Holds reports whether the folder of a skill exists. It reads no file.
func (s *Store) Holds(d skill.Digest) bool {
	info, err := os.Lstat(s.Folder(d))
	return err == nil && info.IsDir()
}

// Whole reports whether the folders of all skills of a release exist. It reads no file.
func (s *Store) Whole(r Release) bool {
	gone := func(m Member) bool { return m.Fault == "" && !s.Holds(m.Skill) }
	first, second := r.Skills[:len(r.Skills)/2], r.Skills[len(r.Skills)/2:]
	other := make(chan bool, 1)
	go func() { other <- slices.ContainsFunc(first, gone) }()
	return !slices.ContainsFunc(second, gone) && !<-other
}

// Dir returns the store's folder.
func (s *Store) Dir() string { return s.dir }

// Fit returns an error if the store's file system has no room for files of this extent. If the free
// space is unknown, it returns nil.
func (s *Store) Fit(e edit.Extent) error {
	if room, known := s.o.Room(s.dir); known {
		return s.fault(room.Fit(e))
	}
	return nil
}

// Release returns the record of a release. If it is missing or unreadable, the error is an
// [fs.ErrNotExist]. The folders of its skills are not checked. The result has no judgement: see
// [Head.Of].
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
	return s.path(releasesFolder, hex.EncodeToString(d[:])+".json"), nil
}

// Record syncs the skills of a release to the disk, and then records the release. If a skill is
// missing, the error is an [fs.ErrNotExist].
func (s *Store) Record(r Release) error {
	at, err := s.releaseFile(r.Digest)
	if err != nil {
		return err
	}
	if err := s.write(); err != nil {
		return err
	}
	slices.SortFunc(r.Skills, func(a, b Member) int { return cmp.Compare(a.Path, b.Path) })
	folders := []string{s.path(layersFolder)}
	for i, m := range r.Skills {
		if i > 0 && r.Skills[i-1].Path == m.Path {
			return fmt.Errorf("the release %s has two skills in %s", r.Digest, m.Path)
		}
		if m.Fault != "" {
			continue
		}
		dir := s.Folder(m.Skill)
		if _, err := os.Lstat(dir); err != nil {
			return s.absent(m.Skill, err)
		}
		if !s.isRecorded(m.Skill) {
			folders = append(folders, dir)
		}
	}
	if err := edit.MakeFolder(realpath.Of(s.path(layersFolder)), 0o700); err != nil {
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

// isRecorded reports whether a recorded release names a skill. Such a skill has been synced.
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

// releases returns the readable releases.
func (s *Store) releases() (all []Release) {
	for name := range s.records(releasesFolder) {
		var r Release
		if s.load(s.path(releasesFolder, name), &r) == nil && r.Digest+".json" == "sha256:"+name {
			all = append(all, r)
		}
	}
	return all
}

// Head returns the head of a source. Without a head, the error is an [fs.ErrNotExist]; an
// unreadable head is a [*Fault].
func (s *Store) Head(source string) (h Head, err error) {
	s.read()
	source = reference.Normal(source)
	at := s.headFile(source)
	if err = s.load(at, &h); err == nil && reference.Normal(h.Source) != source {
		err = &fs.PathError{Op: "read", Path: at, Err: fs.ErrNotExist}
	}
	switch info, failed := os.Stat(at); {
	case failed != nil:
	case err == nil:
		s.touch(at, info)
	case errors.Is(err, fs.ErrNotExist):
		err = s.fault(fmt.Errorf("the record of the release that was served last is damaged: remove %s to begin anew", filepath.Base(filepath.Dir(at))+"/"+filepath.Base(at)))
	}
	if err != nil {
		return Head{}, err
	}
	return h, nil
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
	return s.path(headsFolder, name)
}

// SetHead records which release of a source is served. That release must be recorded already. The
// previous release stays in the store for [Options.Keep].
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

// Extent returns the files and folders of a skill, and their bytes. It opens no file.
func (s *Store) Extent(d skill.Digest) (all edit.Extent, err error) {
	err = filepath.WalkDir(s.Folder(d), func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		all.Entries++
		info, err := e.Info()
		if err == nil && !e.IsDir() {
			all.Bytes += info.Size()
		}
		return err
	})
	return all, err
}

// Remove removes a skill whose files no longer match its digest. The next pull of a release that
// contains the skill fetches it again.
func (s *Store) Remove(d skill.Digest) error {
	if err := s.write(); err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.known, d)
	s.mu.Unlock()
	err := edit.Discard(edit.Named(s.Folder(d)), s.path(tmpFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.fault(err)
}

// Files calls visit for each file of a skill, in the order of paths. It does not check the digest
// of the skill.
func (s *Store) Files(d skill.Digest, visit func(path string, exec bool, size int64, content io.Reader) error) error {
	s.read()
	root, err := os.OpenRoot(s.Folder(d))
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
