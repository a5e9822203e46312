package edit

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// ErrTooLarge is returned for a file that is larger than its limit.
var ErrTooLarge = errors.New("it is larger than its limit")

// Tree is a new folder that is written beside its destination, and moved there when it is complete.
// Until then it is in a folder with a temporary name, which only the owner may enter. A killed
// process leaves that folder behind; [Sweep] removes it.
//
// The folder with the temporary name contains a file, held, which is locked as long as the process
// that writes the tree lives.
type Tree struct {
	// ReadOnly is set to make files without write permissions.
	ReadOnly bool

	dir   string   // the folder with the temporary name
	above *os.Root // the folder above dir
	in    *os.Root // dir
	name  string   // the tree's folder in dir
	root  *os.Root // the tree's folder, open until it is placed
	lock  *os.File
}

// Names of the entries in the folder with the temporary name.
const (
	heldFile   = "held"
	newFolder  = "new"      // a tree that is being written
	swapFolder = "swap"     // a tree during an exchange, or the old folder after it
	asideWas   = "replaced" // the old tree, on systems that cannot exchange folders
)

// NewTree makes an empty tree below the folder parent. It makes parent if it is missing, and
// refuses a link. A tree can only be placed on the file system of parent. The caller removes or
// places the tree.
func NewTree(parent string) (t *Tree, err error) {
	err = inFolder(parent, func(in *os.Root) error {
		t, err = newTree(in)
		return err
	})
	return t, err
}

func newTree(in *os.Root) (_ *Tree, err error) {
	parent := filepath.Clean(in.Name())
	name := tempPrefix + rand.Text()
	t := &Tree{dir: filepath.Join(parent, name), name: newFolder}
	if t.above, err = in.OpenRoot("."); err != nil {
		return nil, pathError("open", parent, err)
	}
	defer func() {
		if err != nil {
			t.Remove()
		}
	}()
	if err := in.Mkdir(name, 0o700); err != nil {
		return nil, pathError("make a folder in", parent, err)
	}
	if t.in, err = openIn(in, name); err != nil {
		return nil, err
	}
	if t.lock, err = hold(in, name, t.in, os.O_EXCL); err != nil {
		return nil, err
	}
	if err := t.in.Mkdir(newFolder, 0o755); err != nil {
		return nil, pathError("make the folder", t.Path(), err)
	}
	if err = t.openRoot(); err != nil {
		return nil, err
	}
	return t, nil
}

// hold locks the folder dir, which has a temporary name. name is its name in the folder in. If
// another process was faster, hold fails with [ErrLocked] or [fs.ErrNotExist].
func hold(in *os.Root, name string, dir *os.Root, flag int) (_ *os.File, err error) {
	path := filepath.Join(dir.Name(), heldFile)
	if info, err := dir.Lstat(heldFile); err == nil && !info.Mode().IsRegular() {
		return nil, pathError("lock", path, ErrIrregular)
	}
	f, err := dir.OpenFile(heldFile, os.O_RDWR|os.O_CREATE|flag, 0o600)
	if errors.Is(err, fs.ErrExist) {
		err = ErrLocked // Sweep has made the file
	}
	if err != nil {
		return nil, pathError("lock", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	// Some network file systems have no locks. A tree is then written without a lock, and Sweep
	// leaves all trees there.
	if err := lockFile(f); err != nil && (flag != os.O_EXCL || errors.Is(err, ErrLocked)) {
		return nil, pathError("lock", path, err)
	}
	// Sweep may have moved the folder between the opening of the file and the lock.
	mine, err := f.Stat()
	if err != nil {
		return nil, err
	}
	now, err := in.Lstat(filepath.Join(name, heldFile))
	if err != nil {
		return nil, err
	}
	if !os.SameFile(mine, now) {
		return nil, pathError("lock", path, ErrLocked)
	}
	return f, nil
}

// lockFile is [lock]. Tests replace it.
var lockFile = lock

// Path returns the current path of the tree's folder. After [Tree.Exchange] it is the path of the
// old folder.
func (t *Tree) Path() string { return filepath.Join(t.dir, t.name) }

var copyBuffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// File makes a file of the tree with the bytes of r, and the folders above it. It returns the
// file's size and SHA-256. The path is slash-separated and relative to the tree. If r has more than
// limit bytes, File makes no file and returns [ErrTooLarge]. If the file exists, File returns
// [ErrExists]. It returns an error of r unchanged; an error of the disk is a [*fs.PathError]. The
// mode is 0644, or 0755 if exec is set, without the bits of the process's umask. File may be called
// concurrently.
func (t *Tree) File(path string, exec bool, r io.Reader, limit int64) (n int64, sum [sha256.Size]byte, err error) {
	if !filepath.IsLocal(filepath.FromSlash(path)) {
		return 0, sum, pathError("create", path, fs.ErrInvalid)
	}
	mode := fs.FileMode(0o644)
	if t.ReadOnly {
		mode = 0o444
	}
	if exec {
		mode |= mode >> 2 & 0o111
	}
	name := filepath.FromSlash(path)
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := t.root.OpenFile(name, flags, mode)
	if errors.Is(err, fs.ErrNotExist) {
		if err = t.root.MkdirAll(filepath.Dir(name), 0o755); err == nil {
			f, err = t.root.OpenFile(name, flags, mode)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		err = ErrExists
	}
	if err != nil {
		return 0, sum, pathError("create", filepath.Join(t.Path(), name), err)
	}
	n, sum, err = fill(f, r, limit)
	if closed := f.Close(); err == nil && closed != nil {
		err = closed
	}
	if err != nil {
		_ = t.root.Remove(name)
	}
	return n, sum, err
}

func fill(f *os.File, r io.Reader, limit int64) (n int64, sum [sha256.Size]byte, err error) {
	buf := copyBuffers.Get().(*[64 << 10]byte)
	defer copyBuffers.Put(buf)
	h := sha256.New()
	for {
		m, err := r.Read(buf[:])
		if n += int64(m); n > limit {
			return n, sum, pathError("write", f.Name(), ErrTooLarge)
		}
		h.Write(buf[:m])
		if m > 0 { // most readers return io.EOF in a separate call without bytes
			if _, err := f.Write(buf[:m]); err != nil {
				return n, sum, pathError("write", f.Name(), err)
			}
		}
		if errors.Is(err, io.EOF) {
			h.Sum(sum[:0])
			return n, sum, nil
		}
		if err != nil {
			return n, sum, err
		}
	}
}

// Sync makes the tree's files survive a crash. On Linux, one call does so for all files of the
// file system.
func (t *Tree) Sync() error {
	if err := syncTree(t.root); err != nil {
		return pathError("sync", t.Path(), err)
	}
	return nil
}

// syncEach syncs each file and folder of a tree.
//
//lint:ignore U1000 systems other than Linux need it
func syncEach(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		flag := os.O_RDWR // a system may sync only files that are open for writing
		if info, err := d.Info(); d.IsDir() || err == nil && info.Mode()&0o200 == 0 {
			flag = os.O_RDONLY
		}
		f, err := root.OpenFile(filepath.FromSlash(path), flag, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := fsync(f); err != nil && !d.IsDir() {
			return err
		}
		return nil
	})
}

// Place moves the tree to a path that does not exist, and makes the folders above it. If the path
// exists, Place returns [ErrExists] and leaves the tree unchanged. Place syncs nothing: after
// [Tree.Sync], a crash leaves the whole folder or none.
func (t *Tree) Place(at string) error {
	if err := t.MovePart(".", at); err != nil {
		return err
	}
	return t.Remove()
}

// MovePart moves a folder of the tree to a path that does not exist, as [Tree.Place] does.
func (t *Tree) MovePart(part, at string) error {
	if !filepath.IsLocal(filepath.FromSlash(part)) {
		return pathError("move", part, fs.ErrInvalid)
	}
	writing.RLock()
	defer writing.RUnlock()
	to, err := makeFolder(filepath.Dir(at), 0o777)
	if err != nil {
		return pathError("make the folder of", at, err)
	}
	defer to.Close()
	from, name := t.in, t.name
	if part == "." {
		t.closeRoot() // Windows cannot move an open folder
	} else if from, name = t.root, filepath.Base(filepath.FromSlash(part)); name != part {
		if from, err = t.root.OpenRoot(filepath.Dir(filepath.FromSlash(part))); err != nil {
			return pathError("move", part, err)
		}
		defer from.Close()
	}
	err = moveNew(from, name, to, filepath.Base(at))
	if errors.Is(err, fs.ErrExist) {
		err = ErrExists
	}
	if err != nil {
		return errors.Join(pathError("create", at, err), t.openRoot())
	}
	return nil
}

// moveChecked renames a folder after a check that the new name is free. It is not atomic.
func moveChecked(from *os.Root, name string, to *os.Root, as string) error {
	if _, err := to.Lstat(as); err == nil {
		return ErrExists
	}
	return move(from, name, to, as)
}

// Exchange swaps the tree with an existing folder. Afterwards the tree is the old folder, which the
// caller may look at and must remove. On Linux and macOS the swap is atomic if the file system can
// exchange folders. Otherwise the path does not exist for a moment.
func (t *Tree) Exchange(with string) error {
	writing.RLock()
	defer writing.RUnlock()
	return inFolderOf(with, func(in *os.Root, name string) error {
		if info, err := in.Lstat(name); err != nil {
			return pathError("replace", with, err)
		} else if !info.IsDir() {
			return pathError("replace", with, errFolder)
		}
		t.closeRoot()
		// From here on, the folder may contain the user's old folder, so Sweep must not remove it
		// without asking.
		if t.name != swapFolder { // it has that name already if this call undoes an exchange
			if err := t.in.Rename(t.name, swapFolder); err != nil {
				return errors.Join(pathError("replace", with, err), t.openRoot())
			}
			t.name = swapFolder
		}
		err := exchange(t.in, t.name, in, name)
		if errors.Is(err, errors.ErrUnsupported) {
			err = t.exchangeTwice(in, name)
		}
		if err != nil {
			return errors.Join(pathError("replace", with, err), t.in.Rename(t.name, newFolder), t.rename(newFolder))
		}
		return nil
	})
}

// rename records a new name of the tree's folder, and opens it.
func (t *Tree) rename(name string) error {
	t.name = name
	return t.openRoot()
}

// exchangeTwice exchanges the folders with two renames. If the second one fails, it undoes the
// first.
func (t *Tree) exchangeTwice(in *os.Root, with string) error {
	if err := move(in, with, t.in, asideWas); err != nil {
		return err
	}
	if err := move(t.in, t.name, in, with); err != nil {
		return errors.Join(err, move(t.in, asideWas, in, with))
	}
	t.name = asideWas
	return nil
}

// errFolder is returned for a file or a link where a folder is expected.
var errFolder = errors.New("it is not a folder")

// Remove removes the tree. After [Tree.Place] it does nothing.
func (t *Tree) Remove() error {
	t.closeRoot()
	var err error
	if t.in != nil {
		if err = t.in.RemoveAll(t.name); err != nil {
			err = pathError("remove", t.Path(), err)
		}
	}
	if t.lock != nil {
		t.lock.Close()
		t.lock = nil
	}
	if t.in != nil {
		_ = t.in.Remove(heldFile)
		t.in.Close()
		t.in = nil
	}
	if t.above != nil {
		_ = t.above.Remove(filepath.Base(t.dir))
		t.above.Close()
		t.above = nil
	}
	return err
}

func (t *Tree) closeRoot() {
	if t.root != nil {
		t.root.Close()
		t.root = nil
	}
}

func (t *Tree) openRoot() (err error) {
	if t.root == nil {
		t.root, err = openIn(t.in, t.name)
	}
	return err
}
