// Package parcels makes the archives in which the discovery index offers skills of several files,
// and caches their digests.
package parcels

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/distribution/archive"
	"github.com/knack-dev/knack/skill"
)

// ErrChanged is the error for a skill that changed while it was packed.
var ErrChanged = errors.New("the skill changed while it was packed")

// maxKept is the maximum number of cached digests, which take about 13 MB.
const maxKept = 100_000

// Parcels caches the digests of archives. It reads the files of each version of a skill once. The
// zero value is ready for use.
type Parcels struct {
	mu      sync.Mutex
	digests map[[32]byte]skill.Digest // by the packed content
}

// Parcel is a skill of several files, as its archive has them.
type Parcel struct {
	entry *catalog.Entry
	files []packed
	key   [32]byte
	size  int64
}

type packed struct {
	skill.File
	exec bool
}

// Of returns the parcel of a skill, or nil for a skill that is only SKILL.md. The error comes from
// [catalog.View.Manifest] or from reading the mode of a file.
func Of(ctx context.Context, v catalog.View, e *catalog.Entry) (*Parcel, error) {
	e, files, err := v.Manifest(ctx, e)
	if err != nil || len(files) == 1 {
		return nil, err
	}
	p := &Parcel{entry: e}
	h := sha256.New()
	for _, f := range files {
		info, err := fs.Stat(e.FS, e.OnDisk(f.Path))
		if err != nil {
			return nil, err
		}
		exec := info.Mode().Perm()&0o111 != 0
		p.files = append(p.files, packed{f, exec})
		p.size += f.Size
		_, _ = io.WriteString(h, f.Path)
		h.Write([]byte{0, byte(map[bool]int{true: 1}[exec])})
		h.Write(f.Digest[:])
	}
	h.Sum(p.key[:0])
	return p, nil
}

// Digest returns the digest of a parcel's archive. It has one file of at most [skill.MaxFile] bytes
// in memory at a time, and the caller reserves that memory.
func (k *Parcels) Digest(ctx context.Context, v catalog.View, p *Parcel) (skill.Digest, error) {
	k.mu.Lock()
	d, ok := k.digests[p.key]
	k.mu.Unlock()
	if ok {
		return d, nil
	}
	ctx, _ = catalog.WithTrace(limit.WithAccount(ctx, nil)) // no client gets the hashed files
	h := sha256.New()
	if err := p.write(ctx, v, h); err != nil {
		return skill.Digest{}, err
	}
	h.Sum(d[:0])
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.digests == nil || len(k.digests) >= maxKept {
		k.digests = map[[32]byte]skill.Digest{}
	}
	k.digests[p.key] = d
	return d, nil
}

// Bytes returns the archive, and reserves memory for it.
func (p *Parcel) Bytes(ctx context.Context, v catalog.View) ([]byte, error) {
	size := p.size + int64(len(p.files)+4)*2048 // headers, padding, blocks
	size += size/1024 + 64<<10
	if err := limit.Reserve(ctx, size); err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(make([]byte, 0, size))
	if err := p.write(ctx, v, b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// write writes the archive, with exactly the files in the manifest.
func (p *Parcel) write(ctx context.Context, v catalog.View, to io.Writer) error {
	w := archive.NewWriter(to)
	for _, f := range p.files {
		var data []byte
		var err error
		if f.Path == skill.MainFile {
			data, _, err = v.Read(ctx, p.entry)
		} else {
			data, err = v.ReadFile(ctx, p.entry, f.Path, 1)
		}
		switch {
		case err != nil:
			return err
		case skill.DigestOf(data) != f.Digest:
			return ErrChanged
		}
		if err := w.Add(f.Path, f.exec, data); err != nil {
			return err
		}
	}
	return w.Close()
}
