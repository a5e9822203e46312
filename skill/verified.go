package skill

import (
	"crypto/sha256"
	"hash"
	"io"
	"io/fs"
)

// Verified returns an open file whose bytes are compared with a digest and a size while they are
// read. The read that would complete other bytes fails with what differs returns.
func Verified(f fs.File, size int64, digest Digest, differs func() error) fs.File {
	return &verified{File: f, size: size, digest: digest, differs: differs, hash: sha256.New()}
}

type verified struct {
	fs.File
	size    int64
	digest  Digest
	differs func() error
	hash    hash.Hash
	read    int64
	right   bool // it was read to its end, and is as its digest says
}

// Read implements [io.Reader].
func (v *verified) Read(p []byte) (int, error) {
	n, err := v.File.Read(p)
	v.hash.Write(p[:n])
	v.read += int64(n)
	if v.read == v.size && !v.right {
		v.right = Digest(v.hash.Sum(nil)) == v.digest
	} else if n > 0 && v.right {
		v.right = false // it has grown
	}
	if !v.right && (v.read >= v.size || err == io.EOF) {
		return 0, v.differs()
	}
	return n, err
}
