package skill

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"time"
)

// MaxFile bounds any file of a skill, in bytes (contract 001, contracts.md).
const MaxFile = 16 << 20

// readTries is the number of attempts to read a file that keeps changing.
const readTries = 4

// ReadFile reads a regular file of at most limit bytes in one state. If the stamp differs before
// and after, it reads the file again. It reads at most limit+1 bytes.
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
			size += size / 2 // the next file may be larger
		}
		buf = make([]byte, size)
	}
	buf = buf[:info.Size()+1]
	n, err := io.ReadFull(f, buf)
	switch {
	case err == nil:
		// The file has grown since the stat. A file in /proc also gets here, because its size is 0,
		// but no skill contains one.
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
		return "", ErrOutside // the drive came after "./"
	}
	return clean, nil
}

// hasDrive reports whether the path begins with a Windows drive: "C:", "C:x" or "C:/x".
func hasDrive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && (p[0] >= 'a' && p[0] <= 'z' || p[0] >= 'A' && p[0] <= 'Z')
}

// Hidden reports whether a path contains a dot-entry. No surface lists, reads or hashes such a
// path.
func Hidden(p string) bool {
	for seg := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(seg, ".") && seg != "." {
			return true
		}
	}
	return false
}

// Stamp identifies a version of a file without its content. It is comparable. Fields that a
// file system does not have are zero.
type Stamp struct {
	Size  int64
	MTime int64 // nanoseconds since 1970
	CTime int64 // change of content or inode, nanoseconds since 1970
	Dev   uint64
	Inode uint64
}

// StampRacy is the age of a change below which another write can leave the same stamp. It is the
// resolution of the coarsest time stamps of file systems in use (FAT: 2 s).
const StampRacy = 2 * time.Second

// Racy reports whether the file was changed so shortly before now that a later write could leave
// the same stamp. Git's index has the same check.
func (s Stamp) Racy(now time.Time) bool {
	t := max(s.MTime, s.CTime)
	return now.UnixNano()-t < int64(StampRacy)
}

// StampOf returns the stamp of a file's info. A source that knows more than [fs.FileInfo] returns
// infos with a method Stamp() Stamp.
func StampOf(info fs.FileInfo) Stamp {
	if s, ok := info.(interface{ Stamp() Stamp }); ok {
		return s.Stamp()
	}
	s := Stamp{Size: info.Size()}
	if t := info.ModTime(); !t.IsZero() {
		s.MTime = t.UnixNano()
	}
	return s
}
