package approvecmd

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/workspace/origins"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

// content is the bytes of a skill's file.
type content struct {
	data       []byte
	executable bool
}

// storeFiles stores the files of a skill, so that [storedFiles] finds them.
func storeFiles(ctx context.Context, env *console.Env, given *settings.Finder, files map[string]content) (err error) {
	s, err := origins.OpenStore(env, given, env.Shown)
	if err != nil {
		return err
	}
	defer s.Close()
	b, err := s.Batch(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	for path, f := range files {
		if err := b.File(".", origin.File{Path: path, Exec: f.executable, Size: int64(len(f.data))}, bytes.NewReader(f.data)); err != nil {
			return err
		}
	}
	_, err = b.Finish(".")
	return err
}

// storedFiles returns the stored bytes of a skill's files, each verified against its digest. If the
// store lacks one, the error is [fs.ErrNotExist]. name is the name given to [pinFiles].
func storedFiles(env *console.Env, given *settings.Finder, name string, files []skill.File) (map[string][]byte, error) {
	s, err := origins.OpenStore(env, given, env.Shown)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	_, _ = s.Head(headName(name)) // marks the approvals as in use
	k, err := s.Find(setInStore(files))
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for _, f := range k.Files {
		r, err := s.Open(k.Digest, f.Path)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(r, f.Size+1))
		r.Close()
		if err != nil {
			return nil, err
		}
		if skill.DigestOf(data) != f.Digest {
			return nil, fmt.Errorf("%s has changed in the store", f.Path)
		}
		all[f.Path] = data
	}
	return all, nil
}

// pinFiles protects stored sets of files from removal, as the release of a source is protected.
// name is the file of approvals.
func pinFiles(env *console.Env, given *settings.Finder, name string, sets [][]skill.File) error {
	s, err := origins.OpenStore(env, given, env.Shown)
	if err != nil {
		return err
	}
	defer s.Close()
	r := store.Release{At: time.Now()}
	all := sha256.New()
	for _, files := range sets {
		d := setInStore(files)
		path := hex.EncodeToString(d[:])
		if s.Holds(d) && !slices.ContainsFunc(r.Skills, func(m store.Member) bool { return m.Path == path }) {
			r.Skills = append(r.Skills, store.Member{Path: path, Skill: d})
		}
	}
	if len(r.Skills) == 0 {
		return nil
	}
	slices.SortFunc(r.Skills, func(a, b store.Member) int { return cmp.Compare(a.Path, b.Path) })
	for _, m := range r.Skills {
		all.Write(m.Skill[:])
	}
	r.Digest = skill.Digest(all.Sum(nil)).String()
	if err := s.Record(r); err != nil {
		return err
	}
	return s.SetHead(headName(name), store.Head{Release: r.Digest, Since: r.At})
}

// headName returns the name of the head that pins approved files.
func headName(name string) string { return "approvals:" + name }

// setInStore returns the digest that identifies a set of files in the store.
func setInStore(files []skill.File) skill.Digest {
	all := make([]lockfile.File, 0, len(files))
	for _, f := range files {
		all = append(all, lockfile.File{Path: f.Path, Size: f.Size, Digest: f.Digest})
	}
	return lockfile.Digest(all)
}
