package skill

import "io/fs"

// HashBuffer is a good size for the buffer that [Skill.Hash] wants.
const HashBuffer = 64 << 10

// Hash reads one file of the skill by the path under which it is served, and
// describes the bytes it read: size, digest and stamp belong together, also when
// the file changes meanwhile. buf is scratch space. The errors are those of the
// file system, [ErrNotRegular] and [ErrUnstable].
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

// ServedPath maps the path of a file as it lies on disk to the one under which
// it is served, and to "" where it is not served: a dot-entry, a name that no URI
// can carry, a file that the main file hides.
func (s *Skill) ServedPath(onDisk string) string {
	if Hidden(onDisk) {
		return ""
	}
	return s.served(onDisk)
}
