package skill

import "io/fs"

// HashBuffer is a good size for the buffer of [Skill.Hash].
const HashBuffer = 64 << 10

// Hash reads one file of the skill by the path under which it is served, and describes the
// bytes it read: size, digest and stamp belong together, even if the file changes
// meanwhile. buf is scratch space. The errors are those of the file system, [ErrNotRegular]
// and [ErrUnstable].
func (s *Skill) Hash(path string, buf []byte) (File, error) {
	f := File{Path: path}
	info, err := fs.Stat(s.FS, s.OnDisk(path))
	if err != nil {
		return f, err
	}
	if !info.Mode().IsRegular() {
		return f, &fs.PathError{Op: "hash", Path: path, Err: ErrNotRegular}
	}
	return f, s.hash(&f, buf)
}

// ServedPath maps the path of a file on disk to its served path. It returns "" for files
// that are not served: dot-entries, names that no URI can carry, and a file that the main
// file hides.
func (s *Skill) ServedPath(onDisk string) string {
	if Hidden(onDisk) {
		return ""
	}
	return s.served(onDisk)
}
