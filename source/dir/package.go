package dir

import (
	"cmp"
	"io/fs"
	"slices"

	"github.com/knack-dev/knack/skill"
)

// Package is the folder of a plugin or of a marketplace as a file system. It is contained like the
// folder of a skill. Unlike that folder, it includes dot-entries, such as .claude-plugin.
type Package struct{ *folder }

// OpenPackage returns the folder at an absolute path, which may be a link. It keeps nothing open.
func OpenPackage(dir string) (*Package, error) {
	real, err := realRoot(dir)
	if err != nil {
		return nil, bare(err)
	}
	return &Package{&folder{location: &location{opener: pickOpener(), base: real, plain: true, dots: true}, sub: "."}}, nil
}

// Sub returns the folder at a path as a separate package. A link from it to the enclosing package
// leads out of the new package.
func (p *Package) Sub(name string) (*Package, error) {
	sub := *p.folder
	err := p.with("open", name, func(h handle) error {
		real, in, err := locate(h, name, p.folder)
		switch {
		case err != nil:
			return err
		case !in.IsDir():
			return errNotDirectory
		case p.sub == ".":
			sub.sub = real
		default:
			sub.sub = p.sub + "/" + real
		}
		return nil
	})
	return &Package{&sub}, err
}

// Entries lists a folder in name order. A link is listed as a link, even if it leads out or
// nowhere. For a folder of more than [skill.MaxFolder] names, Entries returns an error.
func (p *Package) Entries(name string) (entries []fs.DirEntry, err error) {
	err = p.with("readdir", name, func(h handle) error {
		real, in, err := locate(h, name, p.folder)
		if err == nil && !in.IsDir() {
			err = errNotDirectory
		}
		if err != nil {
			return err
		}
		d, found, err := h.list(real, skill.MaxFolder)
		if d != nil {
			d.close()
		}
		entries = found
		return err
	})
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, err
}
