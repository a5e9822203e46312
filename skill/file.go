package skill

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
)

// MaxFile bounds any file of a skill, in bytes (contract 001 by contracts.md).
const MaxFile = 16 << 20

// readTries is the number of attempts to read a file that keeps changing.
const readTries = 4

// ReadFile reads a regular file of at most limit bytes in one state: if the stamp differs
// before and after, it reads the file again. It reads at most limit+1 bytes.
func ReadFile(fsys fs.FS, name string, limit int64) ([]byte, Stamp, error) {
	return readFile(fsys, name, limit, nil)
}

// readFile is ReadFile with a buffer, which it uses if the file fits.
func readFile(fsys fs.FS, name string, limit int64, buf []byte) ([]byte, Stamp, error) {
	for range readTries {
		data, stamp, same, err := readOnce(fsys, name, limit, buf)
		if err != nil || same {
			return data, stamp, err
		}
	}
	return nil, Stamp{}, &fs.PathError{Op: "read", Path: name, Err: ErrUnstable}
}

func readOnce(fsys fs.FS, name string, limit int64, buf []byte) (data []byte, stamp Stamp, same bool, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, Stamp{}, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, Stamp{}, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, Stamp{}, false, &fs.PathError{Op: "read", Path: name, Err: ErrNotRegular}
	}
	if info.Size() > limit {
		return nil, StampOf(info), false, &fs.PathError{Op: "read", Path: name, Err: ErrTooLarge}
	}
	if size := info.Size() + 1; int64(cap(buf)) < size {
		if buf != nil {
			size += size / 2 // the next one may be larger
		}
		buf = make([]byte, size)
	}
	buf = buf[:info.Size()+1]
	n, err := io.ReadFull(f, buf)
	switch {
	case err == nil:
		// The file has grown since the stat. Files in /proc report 0; they are never a
		// skill's.
		return nil, Stamp{}, false, nil
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, Stamp{}, false, err
	}
	after, err := f.Stat()
	if err != nil {
		return nil, Stamp{}, false, err
	}
	stamp = StampOf(info)
	return buf[:n], stamp, int64(n) == info.Size() && stamp == StampOf(after), nil
}

// FilePath turns a file path from a model or user into the name to open. It treats "\" like
// "/" and resolves "." and inner "..". It returns [ErrOutside] for an absolute path, a
// drive letter, a ".." that leaves the skill and a NUL.
func FilePath(p string) (string, error) {
	p = strings.ReplaceAll(p, "\\", "/")
	if strings.HasPrefix(p, "/") || strings.ContainsRune(p, 0) || hasDrive(p) {
		return "", ErrOutside
	}
	var out []string
	for seg := range strings.SplitSeq(p, "/") {
		switch seg {
		case "", ".":
		case "..":
			if len(out) == 0 {
				return "", ErrOutside
			}
			out = out[:len(out)-1]
		default:
			out = append(out, seg)
		}
	}
	if len(out) == 0 {
		return ".", nil
	}
	clean := strings.Join(out, "/")
	if hasDrive(clean) {
		return "", ErrOutside // behind "./"
	}
	return clean, nil
}

// hasDrive reports whether the path begins with a Windows drive: "C:", "C:x" or "C:/x".
func hasDrive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && (p[0] >= 'a' && p[0] <= 'z' || p[0] >= 'A' && p[0] <= 'Z')
}

// Hidden reports whether a path contains a dot-entry. No surface lists, reads or hashes
// these.
func Hidden(p string) bool {
	for seg := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(seg, ".") && seg != "." {
			return true
		}
	}
	return false
}

// Reason words a read error for people and models, without a path of the machine.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	for _, s := range []error{ErrOutside, ErrNotRegular, ErrTooLarge, ErrNotUTF8, ErrUnstable, ErrBusy, ErrNoRoom, ErrIncomplete} {
		if errors.Is(err, s) {
			return s.Error()
		}
	}
	var errno syscall.Errno
	switch {
	case errors.Is(err, syscall.ELOOP):
		return "link loop"
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.As(err, &errno):
		return errno.Error()
	}
	return "cannot be read"
}

// ErrNotFolder is returned if a folder's path is something else.
var ErrNotFolder = errors.New("it is a file, not a folder")

// FolderReason words why a folder of skills cannot be read, and what to do, without a path
// of the machine.
func FolderReason(err error) (reason, mend string) {
	switch {
	case errors.Is(err, ErrNotFolder):
		return ErrNotFolder.Error(), "give a folder"
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such folder", "check the path, or create the folder"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied", "let the user who runs knack read the folder"
	case errors.Is(err, syscall.ELOOP):
		return "link loop", "make the link point to a folder, or name the folder itself"
	}
	return Reason(err), "see whether the disk and the folder can be read at all"
}

// ReadServed reads a file of the skill by its served path or its path on disk. SKILL.md is
// the main file in any spelling.
func (s *Skill) ReadServed(path string, limit int64) ([]byte, Stamp, error) {
	return ReadFile(s.FS, s.OnDisk(path), limit)
}
