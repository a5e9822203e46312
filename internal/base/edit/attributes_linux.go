package edit

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// copyAttributes gives a new file the extended attributes of the file from in the same folder, and
// removes all others. They include POSIX ACLs. Without its ACL, a file may be open to more users,
// and a new file can inherit a different ACL from its folder.
func copyAttributes(made *temporary, from string) error {
	f, err := openRegular(made.in, from)
	if err != nil {
		return err
	}
	defer f.Close()
	to := int(made.f.Fd())
	want, err := attributes(int(f.Fd()))
	if err != nil {
		return errAttributes
	}
	have, err := attributes(to)
	if err != nil {
		return errAttributes
	}
	for name := range have {
		if _, keep := want[name]; keep || strings.HasPrefix(name, "security.") {
			continue // the kernel's security modules label every new file
		}
		if unix.Fremovexattr(to, name) != nil {
			return errAttributes
		}
	}
	for name, value := range want {
		if now, ok := have[name]; ok && bytes.Equal(now, value) {
			continue
		}
		if setAttribute(to, name, value, 0) != nil {
			return errAttributes
		}
	}
	return nil
}

// setAttribute sets an attribute. Tests replace it, because each system forbids users to set
// different attributes.
var setAttribute = unix.Fsetxattr

// ofContent lists attributes that depend on a file's content: hashes, signatures, and
// capabilities, which the kernel removes when a file is written (xattr(7),
// capabilities(7)).
var ofContent = map[string]bool{"security.capability": true, "security.ima": true, "security.evm": true}

// attributes returns the extended attributes of a file by name, except those that depend on its
// content. It returns nil for a file system without attributes.
func attributes(fd int) (map[string][]byte, error) {
	names, err := sized(func(buf []byte) (int, error) { return unix.Flistxattr(fd, buf) })
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		if name == "" || ofContent[name] {
			continue
		}
		value, err := sized(func(buf []byte) (int, error) { return unix.Fgetxattr(fd, name, buf) })
		if errors.Is(err, unix.ENODATA) {
			continue // it was removed after it was listed
		}
		if err != nil {
			return nil, err
		}
		all[name] = value
	}
	return all, nil
}

// sized reads a value of unknown size: get returns the size if its buffer is empty.
func sized(get func(buf []byte) (int, error)) ([]byte, error) {
	for {
		size, err := get(nil)
		if err != nil || size == 0 {
			return nil, err
		}
		buf := make([]byte, size)
		n, err := get(buf)
		if errors.Is(err, unix.ERANGE) {
			continue // the value has grown
		}
		return buf[:max(n, 0)], err
	}
}
