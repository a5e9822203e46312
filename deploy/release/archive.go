package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"io/fs"
	"time"
)

// file is a file of a package.
type file struct {
	name string
	mode int64
	data []byte
}

// archiveName returns the name of the archive for a system.
func (r *release) archiveName(t target) string {
	if t.os == "windows" {
		return r.folder(t) + ".zip"
	}
	return r.folder(t) + ".tar.gz"
}

// folder returns the name of the folder at the top of the archive for a system.
func (r *release) folder(t target) string { return "knack_" + r.version + "_" + t.os + "_" + t.arch }

// archive returns the archive for a system.
func (r *release) archive(t target, binary []byte) ([]byte, error) {
	files := []file{{r.folder(t) + "/" + t.program(), 0o755, binary}}
	for _, d := range r.docs {
		d.name = r.folder(t) + "/" + d.name
		files = append(files, d)
	}
	if t.os == "windows" {
		return zipOf(r.time, files)
	}
	return tarOf(r.time, files)
}

// tarOf returns a tar.gz of files that all have the same time and no owner.
func tarOf(modified time.Time, files []file) ([]byte, error) {
	var b bytes.Buffer
	packed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(packed)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: modified, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = packed.Close()
	return b.Bytes(), err
}

// zipOf returns a zip of files that all have the same time.
func zipOf(modified time.Time, files []file) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: modified}
		header.SetMode(fs.FileMode(f.mode))
		entry, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
