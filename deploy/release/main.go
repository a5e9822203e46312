// Command release writes all files of a release of knack into a folder. It makes them from the
// commit that is checked out:
//
//	go -C deploy/release run . -version v0.1.0
//
// It builds a clone of that commit, which it tags with the version. So uncommitted changes have no
// effect, and the same commit gives the same bytes on each machine. The command uploads nothing.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.source, "source", "../..", "the `folder` of knack's sources")
	flag.StringVar(&o.out, "o", "../../dist/release", "the `folder` for the release, which must be empty or absent")
	flag.StringVar(&o.version, "version", "", "the `version`, such as v0.1.0")
	flag.StringVar(&o.key, "key", "", "the `file` with the private key that signs SHA256SUMS: ECDSA on P-256, as PEM")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options has the values of the flags.
type options struct {
	source, out, version, key string
}

// target is a system for which a release has a program.
type target struct{ os, arch string }

// targets are the systems of a release, in the order of the files that list them.
var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// program returns the name of the program's file.
func (t target) program() string {
	if t.os == "windows" {
		return "knack.exe"
	}
	return "knack"
}

// path returns the path of the target's program below the folder of all programs.
func (t target) path(programs string) string { return filepath.Join(programs, t.os+"-"+t.arch) }

// versions matches the versions that all kinds of packages support.
var versions = regexp.MustCompile(`^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$`)

// release collects the files of a release.
type release struct {
	version string // without the v
	time    time.Time
	docs    []file
	// digests has the SHA-256 of each file in out, in hexadecimal, by its name.
	digests map[string]string
	out     string
}

// run makes a release in the folder o.out.
func run(ctx context.Context, o options) error {
	if !versions.MatchString(o.version) {
		return fmt.Errorf("-version is %q: give a version such as v0.1.0", o.version)
	}
	switch entries, err := os.ReadDir(o.out); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look into the folder for the release: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: delete it, or name another folder with -o", o.out)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	var err error
	if o.out, err = filepath.Abs(o.out); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "knack-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	c, err := cloneOf(ctx, o.source, filepath.Join(scratch, "source"), o.version)
	if err != nil {
		return err
	}
	r := &release{version: o.version[1:], time: c.time, out: o.out, digests: map[string]string{}}
	programs := filepath.Join(scratch, "programs")
	here := target{runtime.GOOS, runtime.GOARCH}
	for _, t := range append([]target{here}, targets...) {
		if err := c.build(ctx, t, t.path(programs)); err != nil {
			return err
		}
	}
	if r.docs, err = c.documents(ctx, here.path(programs)); err != nil {
		return err
	}
	bom, err := c.materials(ctx, targets[0].path(programs))
	if err != nil {
		return err
	}
	if err := r.put("knack_"+r.version+".cdx.json", bom); err != nil {
		return err
	}
	for _, t := range targets {
		binary, err := os.ReadFile(t.path(programs))
		if err != nil {
			return err
		}
		if err := r.packages(t, binary, filepath.Join(scratch, "files")); err != nil {
			return fmt.Errorf("package for %s/%s: %w", t.os, t.arch, err)
		}
	}
	if err := r.manifests(); err != nil {
		return err
	}
	if err := c.image(ctx, filepath.Join(o.out, "image")); err != nil {
		return err
	}
	return r.sums(o.key)
}

// packages makes the packages that contain the program for a system.
func (r *release) packages(t target, binary []byte, scratch string) error {
	data, err := r.archive(t, binary)
	if err == nil {
		err = r.put(r.archiveName(t), data)
	}
	if err != nil {
		return err
	}
	if data, err = r.npmPlatform(t, binary); err == nil {
		err = r.put(npmFile(t.npm(), r.version), data)
	}
	if err != nil {
		return err
	}
	if data, err = r.bundle(t, binary); err == nil {
		err = r.put(r.bundleName(t), data)
	}
	if err != nil || t.os != "linux" {
		return err
	}
	return r.native(t, binary, scratch)
}

// put writes a file of the release, and records its digest.
func (r *release) put(name string, data []byte) error {
	r.digests[name] = fmt.Sprintf("%x", sha256.Sum256(data))
	path := filepath.Join(r.out, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// sums writes SHA256SUMS, and its signature if key is the file of a key.
func (r *release) sums(key string) error {
	var b bytes.Buffer
	for _, name := range sortedKeys(r.digests) {
		if !strings.Contains(name, "/") { // folders have files for other repositories
			fmt.Fprintf(&b, "%s  %s\n", r.digests[name], name)
		}
	}
	if err := r.put("SHA256SUMS", b.Bytes()); err != nil || key == "" {
		return err
	}
	signature, err := sign(key, b.Bytes())
	if err != nil {
		return fmt.Errorf("sign SHA256SUMS with %s: %w", key, err)
	}
	return r.put("SHA256SUMS.sig", signature)
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
