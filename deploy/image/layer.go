package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"io"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// file is a file of a layer, or a folder if its name ends with a slash.
type file struct {
	name  string
	mode  int64
	owner int
	data  []byte
}

// base returns the files of the image besides the program. They do not depend on the machine that
// builds the image.
func base() []file {
	dir := func(name string) file { return file{name: name, mode: 0o755} }
	text := func(name, data string) file { return file{name: name, mode: 0o644, data: []byte(data)} }
	return []file{
		dir("etc/"),
		text("etc/group", fmt.Sprintf("root:x:0:\nnonroot:x:%d:\n", user)),
		dir("etc/knack/"), // for knack.yaml
		text("etc/passwd", fmt.Sprintf("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%d:%[1]d:nonroot:/:/sbin/nologin\n", user)),
		dir("etc/ssl/"),
		dir("etc/ssl/certs/"),
		text("etc/ssl/certs/ca-certificates.crt", certificates()), // for calls over HTTPS
		dir("skills/"),
		dir("var/"),
		dir("var/lib/"),
		{name: "var/lib/knack/", mode: 0o700, owner: user}, // for a server's data; a new volume takes its owner
	}
}

// certificates returns Mozilla's root certificates as PEM. It leaves out roots with a constraint,
// such as trust only in older certificates, since a PEM file cannot express one.
func certificates() string {
	var out strings.Builder
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.String()
}

// layerOf returns a layer of files that all have the same time.
func layerOf(files []file, modified time.Time) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.data)), ModTime: modified, Format: tar.FormatUSTAR}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
}
