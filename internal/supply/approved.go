package supply

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/lockfile"
	"github.com/knack-dev/knack/origin"
	"github.com/knack-dev/knack/skill"
)

// Content is a file of a skill with its bytes.
type Content struct {
	Data []byte
	Exec bool // it is executable
}

// Keep puts the files of a skill into the store, for [Kept]. given is the file of --config, or "".
func Keep(ctx context.Context, env *console.Env, given string, files map[string]Content) (err error) {
	s, err := OpenStore(env, given, env.Shown)
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
		if err := b.File(".", origin.File{Path: path, Exec: f.Exec, Size: int64(len(f.Data))}, bytes.NewReader(f.Data)); err != nil {
			return err
		}
	}
	_, err = b.Finish(".")
	return err
}

// Kept returns the bytes of a skill's files that the store has, each of which is as its digest says.
// A store that does not have all of them is an [fs.ErrNotExist].
func Kept(env *console.Env, given string, files []skill.File) (map[string][]byte, error) {
	s, err := OpenStore(env, given, env.Shown)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var wanted []lockfile.File
	for _, f := range files {
		wanted = append(wanted, lockfile.File{Path: f.Path, Size: f.Size, Digest: f.Digest})
	}
	k, err := s.Find(lockfile.Digest(wanted))
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
