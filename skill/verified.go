package skill

import (
	"crypto/sha256"
	"hash"
	"io"
	"io/fs"
)

// Verified returns an open file that checks its bytes against a digest and a size while they are
// read. If the bytes differ, the last read fails with the error from differs.
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
	right   bool // all bytes were read and match the digest
}

// Read implements [io.Reader].
func (v *verified) Read(p []byte) (int, error) {
	n, err := v.File.Read(p)
	v.hash.Write(p[:n])
	v.read += int64(n)
	if v.read == v.size && !v.right {
		v.right = Digest(v.hash.Sum(nil)) == v.digest
	} else if n > 0 && v.right {
		v.right = false // the file has more bytes than size
	}
	if !v.right && (v.read >= v.size || err == io.EOF) {
		return 0, v.differs()
	}
	return n, err
}
