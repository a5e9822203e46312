package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// completionPaths are the files from which shells read completions on Linux.
var completionPaths = map[string]string{
	"bash": "/usr/share/bash-completion/completions/knack",
	"fish": "/usr/share/fish/vendor_completions.d/knack.fish",
	"zsh":  "/usr/share/zsh/vendor-completions/_knack",
}

const (
	maintainer = "The knack developers <knack-dev@users.noreply.github.com>"
	summary    = "Serves the skills of this machine to any agent that speaks MCP"
	homepage   = "https://github.com/knack-dev/knack"
)

// native writes the packages for Debian, RPM and Alpine.
func (r *release) native(t target, binary []byte, scratch string) error {
	contents, err := r.installed(binary)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(scratch); err != nil {
		return err
	}
	var list files.Contents
	for _, f := range contents {
		path := filepath.Join(scratch, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			return err
		}
		list = append(list, &files.Content{Source: path, Destination: f.name, FileInfo: &files.ContentFileInfo{
			Owner: "root", Group: "root", Mode: os.FileMode(f.mode), MTime: r.time,
		}})
	}
	for _, format := range []string{"deb", "rpm", "apk"} {
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "knack", Arch: t.arch, Platform: "linux", Version: r.version,
			Section: "utils", Priority: "optional", Maintainer: maintainer, Vendor: "knack", Homepage: homepage, License: "Apache-2.0",
			Description: summary + "\nknack finds the skills in every folder that agents read, and offers them\nas MCP tools, resources and prompts. It says why a skill is skipped.",
			MTime:       r.time, DisableGlobbing: true,
		})
		info.Contents = list
		info.RPM.BuildHost, info.RPM.Summary = "knack", summary
		switch format {
		case "deb":
			info.License = "" // a Debian package has the licence in its file copyright
		case "rpm":
			info.Release = "1"
		}
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return err
		}
		var b bytes.Buffer
		if err := packager.Package(info, &b); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
		if err := r.put(fmt.Sprintf("knack_%s_linux_%s.%s", r.version, t.arch, format), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// installed returns the files of a Linux package, with their full paths.
func (r *release) installed(binary []byte) ([]file, error) {
	changes := fmt.Sprintf("knack (%s) unstable; urgency=medium\n\n  * See %s/blob/v%s/CHANGELOG.md\n\n -- %s  %s\n",
		r.version, homepage, r.version, maintainer, r.time.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
	packed, err := gzipOf([]byte(changes))
	if err != nil {
		return nil, err
	}
	copyright := "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: knack\nSource: " + homepage +
		"\n\nFiles: *\nCopyright: " + r.time.Format("2006") + " The knack developers\nLicense: Apache-2.0\n On Debian systems, the text of the Apache License 2.0 is in\n /usr/share/common-licenses/Apache-2.0.\n"
	list := []file{
		{"/usr/bin/knack", 0o755, binary},
		{"/usr/share/doc/knack/changelog.gz", 0o644, packed},
		{"/usr/share/doc/knack/copyright", 0o644, []byte(copyright)},
		{"/usr/share/lintian/overrides/knack", 0o644, []byte("# Go links statically.\nknack: statically-linked-binary [usr/bin/knack]\n")},
	}
	for _, d := range r.docs {
		if page, ok := strings.CutPrefix(d.name, "man/"); ok {
			packed, err := gzipOf(d.data)
			if err != nil {
				return nil, err
			}
			list = append(list, file{"/usr/share/man/man1/" + page + ".gz", 0o644, packed})
		} else if path := completionPaths[strings.TrimPrefix(d.name, completions)]; path != "" {
			list = append(list, file{path, 0o644, d.data})
		}
	}
	return list, nil
}

// gzipOf compresses data, without a time and a name in the header.
func gzipOf(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}
