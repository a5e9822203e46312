package skill

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"sort"
	"strings"
	"syscall"
)

// Limits of a published skill (SEP-2640) and of any listing of its files.
const (
	MaxFiles     = 512
	MaxSkillSize = 16 << 20
	// MaxDepth bounds folders below a root and inside a skill.
	MaxDepth = 12
	// MaxFolder bounds the names in one folder of a listed skill. FolderMemory is the approximate
	// memory of these names, in bytes.
	MaxFolder    = 10_240
	FolderMemory = 4 << 20
)

// File is one file of a skill.
type File struct {
	Path   string // slash-separated below the skill; the main file is "SKILL.md"
	Size   int64
	Digest Digest // of the content; zero in the result of List
	Stamp  Stamp
}

// List lists the regular files of the skill in path order. It leaves out dot-entries and links that
// lead out of the skill. It stops after limit files, or at a folder of more than [MaxFolder] names;
// more is then true. The error is [ErrIncomplete] if a folder cannot be read or is more than
// [MaxDepth] levels down, or if no URI can contain a file's path. The result then contains the
// other files. If the disk fails for the moment, List returns the file system's error.
func (s *Skill) List(ctx context.Context, limit int) (files []File, more bool, err error) {
	lacks := ""
	err = fs.WalkDir(&namesFS{s.FS, 2 * max(limit, MaxFolder)}, ".", func(p string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if p != "." && strings.HasPrefix(e.Name(), ".") {
			return skipEntry(e)
		}
		if errors.Is(err, ErrTooLarge) {
			more = true
			return fs.SkipAll
		}
		if err != nil {
			if p == "." || failsNow(err) {
				return err
			}
			if !errors.Is(err, fs.ErrNotExist) {
				lacks = cmp.Or(lacks, p)
			}
			return nil
		}
		if e.IsDir() {
			if strings.Count(p, "/") >= MaxDepth {
				lacks = cmp.Or(lacks, p)
				return fs.SkipDir
			}
			return nil
		}
		name := s.served(p)
		info, err := fs.Stat(s.FS, p)
		if name == "" {
			// A name that is not UTF-8 cannot be opened through an fs.FS. The folder still reports
			// the type of its file.
			if regular := err == nil && info.Mode().IsRegular() || err != nil && e.Type().IsRegular(); regular && CleanPath(p) != nil {
				lacks = cmp.Or(lacks, p)
			}
			return nil
		}
		if failsNow(err) {
			return err
		}
		if errors.Is(err, fs.ErrPermission) {
			lacks = cmp.Or(lacks, p)
		}
		if err != nil || !info.Mode().IsRegular() {
			return nil // a link that leads outside, or a pipe; the scan reports it
		}
		if len(files) == limit {
			more = true
			return fs.SkipAll
		}
		files = append(files, File{Path: name, Size: info.Size(), Stamp: StampOf(info)})
		return nil
	})
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	if err == nil && lacks != "" {
		err = &fs.PathError{Op: "list", Path: lacks, Err: ErrIncomplete}
	}
	return files, more, err
}

// namesFS bounds the names that a walk reads, because the walk keeps the names of all parent
// folders in memory.
type namesFS struct {
	fs.FS
	left int
}

// ReadDir implements [fs.ReadDirFS].
func (n *namesFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(n.FS, name)
	if n.left -= len(entries); n.left < 0 {
		return nil, ErrTooLarge
	}
	return entries, err
}

// failsNow reports whether an error comes from a failure of the disk or the system that may soon be
// over.
func failsNow(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

func skipEntry(e fs.DirEntry) error {
	if e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// served maps a name on disk to its served name. The entry is served as SKILL.md, in whatever
// spelling it has. served returns "" for a name that no URI can contain, or that the main file
// hides.
func (s *Skill) served(p string) string {
	if p == s.Entry {
		return MainFile
	}
	if p == MainFile || CleanPath(p) != nil {
		return ""
	}
	return p
}

// OnDisk maps a served name to the name on disk.
func (s *Skill) OnDisk(name string) string {
	if name == MainFile && s.Entry != "" {
		return s.Entry
	}
	return name
}

// ReadServed reads a file of the skill by its served path or its path on disk. SKILL.md is
// the main file in any spelling.
func (s *Skill) ReadServed(path string, limit int64) ([]byte, Stamp, error) {
	return ReadFile(s.FS, s.OnDisk(path), limit)
}

// onePass is a file system that can list and hash the files of a skill in one pass. known are files
// from an earlier call. ok is false if it cannot ensure that all files belong to one state. The
// caller must then list and hash the files itself.
type onePass interface {
	Whole(ctx context.Context, known []File) (files []File, ok bool)
}

// Manifest describes every file of the skill with the digest of its bytes, in path order. All files
// belong to one state that the skill had while Manifest ran. known are the files of an earlier
// manifest, except those whose stamps were racy then. Manifest does not read a known file again if
// its stamp is unchanged. Neither known nor the result may be changed.
//
// The error is [ErrTooLarge] for more than [MaxFiles] files or [MaxSkillSize] bytes. It is
// [ErrIncomplete] if a file cannot be listed, and [ErrUnstable] if the skill keeps changing. Any
// other error comes from the file system.
func (s *Skill) Manifest(ctx context.Context, known []File) ([]File, error) {
	if by, ok := s.FS.(onePass); ok && s.Entry == MainFile {
		if files, ok := by.Whole(ctx, known); ok {
			return files, nil
		}
	}
	for range readTries {
		files, err := s.listAll(ctx)
		if err != nil {
			return nil, err
		}
		read, err := s.hashAll(ctx, files, known)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a file was removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		if !read {
			return files, nil
		}
		// Hashing takes time, so check that the skill has not changed since it was listed.
		again, err := s.listAll(ctx)
		if err != nil {
			return nil, err
		}
		if slices.EqualFunc(files, again, func(a, b File) bool { return a.Path == b.Path && a.Size == b.Size && a.Stamp == b.Stamp }) {
			return files, nil
		}
	}
	return nil, &fs.PathError{Op: "manifest", Path: s.Folder(), Err: ErrUnstable}
}

// listAll lists the files of a skill. It fails if the skill exceeds the limits of publication.
func (s *Skill) listAll(ctx context.Context) ([]File, error) {
	files, more, err := s.List(ctx, MaxFiles)
	if err != nil {
		return nil, err
	}
	if more || sizeOf(files) > MaxSkillSize {
		return nil, s.tooLarge()
	}
	return files, nil
}

// hashAll fills in the digests, and reports whether it had to read a file.
func (s *Skill) hashAll(ctx context.Context, files, known []File) (read bool, err error) {
	var buf []byte
	for i, f := range files {
		if k, ok := fileIn(known, f.Path); ok && k.Stamp == f.Stamp && k.Size == f.Size {
			files[i] = k
			continue
		}
		if err := ctx.Err(); err != nil {
			return read, err
		}
		if buf == nil {
			buf = make([]byte, hashBuffer)
		}
		read = true
		if err := s.hash(&files[i], buf); err != nil {
			return read, err
		}
	}
	if sizeOf(files) > MaxSkillSize { // the file has grown since it was listed
		return read, s.tooLarge()
	}
	return read, nil
}

// fileIn finds a file by its path among files in path order.
func fileIn(files []File, path string) (File, bool) {
	i, ok := slices.BinarySearchFunc(files, path, func(f File, path string) int { return cmp.Compare(f.Path, path) })
	if !ok {
		return File{}, false
	}
	return files[i], true
}

func sizeOf(files []File) (total int64) {
	for _, f := range files {
		total += f.Size
	}
	return total
}

func (s *Skill) tooLarge() error {
	return &fs.PathError{Op: "manifest", Path: s.Folder(), Err: ErrTooLarge}
}

// hashBuffer is the size of the buffer through which files are hashed.
const hashBuffer = 64 << 10

// Hash reads one file of the skill by its served path, and describes the bytes that it has read.
// Size, digest and stamp belong together, even if the file changes meanwhile. It returns errors of
// the file system, [ErrNotRegular] and [ErrUnstable].
func (s *Skill) Hash(path string) (File, error) {
	f := File{Path: path}
	info, err := fs.Stat(s.FS, s.OnDisk(path))
	if err != nil {
		return f, err
	}
	if !info.Mode().IsRegular() {
		return f, &fs.PathError{Op: "hash", Path: path, Err: ErrNotRegular}
	}
	err = s.hash(&f, make([]byte, hashBuffer))
	return f, err
}

// ServedPath maps the path of a file on disk to its served path. It returns "" for files that are
// not served: dot-entries, names that no URI can contain, and a file that the main file hides.
func (s *Skill) ServedPath(onDisk string) string {
	if Hidden(onDisk) {
		return ""
	}
	return s.served(onDisk)
}

func (s *Skill) hash(f *File, buf []byte) error {
	for range readTries {
		file, err := s.FS.Open(s.OnDisk(f.Path))
		if err != nil {
			return err
		}
		same, err := hashOnce(file, f, buf)
		file.Close()
		if err != nil || same {
			return err
		}
	}
	return &fs.PathError{Op: "hash", Path: f.Path, Err: ErrUnstable}
}

// yielding is a writer that yields to other goroutines before each write. So small answers need not
// wait for large files.
type yielding struct{ io.Writer }

func (y yielding) Write(p []byte) (int, error) {
	runtime.Gosched()
	return y.Writer.Write(p)
}

func hashOnce(file fs.File, f *File, buf []byte) (same bool, err error) {
	before, err := file.Stat()
	if err != nil {
		return false, err
	}
	switch {
	case !before.Mode().IsRegular():
		return false, &fs.PathError{Op: "hash", Path: f.Path, Err: ErrNotRegular}
	case before.Size() > MaxSkillSize:
		return false, &fs.PathError{Op: "hash", Path: f.Path, Err: ErrTooLarge}
	}
	h := sha256.New()
	n, err := io.CopyBuffer(yielding{h}, io.LimitReader(file, MaxSkillSize+1), buf)
	if err != nil {
		return false, err
	}
	after, err := file.Stat()
	if err != nil {
		return false, err
	}
	f.Size, f.Stamp = n, StampOf(before)
	h.Sum(f.Digest[:0])
	return n == before.Size() && StampOf(after) == f.Stamp, nil
}
