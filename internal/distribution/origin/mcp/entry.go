package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skillsext"
)

// entry is a skill of a server's list.
type entry struct {
	origin.Skill
	listing *skillsext.Skill
	root    string // the URI of its folder
	files   []file // without uninstallable files; nil without a list
}

type file struct{ path, uri string }

// maxFoldersAbove is the maximum number of folders above a skill. Servers may follow each other in
// a circle, and each of them puts a label before the path. Without this limit, an old version of a
// skill would circulate for ever.
const maxFoldersAbove = 8

// entryOf converts an entry of a server's list. The skill has a fault if it cannot be installed. ok
// is false if the address of the entry is invalid.
func entryOf(s *skillsext.Skill) (e entry, ok bool) {
	root, ok := strings.CutSuffix(s.URI, "/"+skill.MainFile)
	at, err := pathOf(root)
	if !ok || err != nil {
		return entry{}, false
	}
	e = entry{Skill: origin.Skill{Path: at, Main: skill.MainFile}, listing: s, root: root}
	if fields, err := s.Frontmatter.Map(); err == nil {
		e.Name, _ = fields["name"].(string)
		e.Description, _ = fields["description"].(string)
	}
	switch {
	case strings.Count(at, "/") > maxFoldersAbove:
		e.Fault = fmt.Errorf("its address has more than %d folders", maxFoldersAbove)
	case !s.Resources.IsDynamic():
		e.Fault = e.list()
	}
	return e, true
}

// pathOf returns the path within a server that a URI names. The path begins with the host, since
// that is the first part of the path in a skill:// URI.
func pathOf(uri string) (string, error) {
	if u, err := skill.ParseURI(uri); err == nil {
		return u.Path(), origin.CheckPath(u.Path())
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme == "" || u.Opaque != "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Contains(strings.ToLower(u.EscapedPath()), "%2f") {
		return "", errors.New("the URI has no path")
	}
	at := strings.Trim(u.Host+u.Path, "/")
	return at, origin.CheckPath(at)
}

// list sets the files of the entry, and the digest of all of them together.
func (e *entry) list() error {
	var paths origin.Paths
	var locked []lockfile.File
	var total int64
	hidden := map[string]bool{}
	main := false
	for _, r := range e.listing.Resources.List() {
		name, err := e.below(r.URI)
		if err != nil {
			return err
		}
		if dot := origin.HiddenPart(name); dot != "" {
			if !hidden[dot] {
				hidden[dot] = true
				e.Left++
			}
			continue
		}
		digest, err := skill.ParseDigest(r.Digest)
		if err != nil || r.Size < 0 {
			return fmt.Errorf("the server's list has no digest or no size for %s", display.Quote(name))
		}
		if err := paths.Add(name); err != nil {
			return err
		}
		total += min(r.Size, origin.MaxSize+1)
		switch {
		case len(e.files) == origin.MaxFiles:
			return origin.TooManyFiles()
		case total > origin.MaxSize:
			return origin.TooLarge()
		}
		main = main || name == skill.MainFile
		e.files = append(e.files, file{name, r.URI})
		locked = append(locked, lockfile.File{Path: name, Size: r.Size, Digest: digest})
	}
	if !main {
		return fmt.Errorf("the server does not list its %s", skill.MainFile)
	}
	e.Extent = edit.Extent{Entries: paths.Entries() + 1, Bytes: total}
	e.Digest = lockfile.Digest(locked).String()
	return nil
}

// below returns the path of a file below the skill's folder.
func (e *entry) below(uri string) (string, error) {
	at, err := pathOf(uri)
	name, ok := strings.CutPrefix(at, e.Path+"/")
	if err != nil || !ok {
		return "", fmt.Errorf("the server lists %s, which is not a file of the skill", display.Quote(uri))
	}
	return name, nil
}

// child returns the name of a member of a folder, if the URI names one.
func child(folder, uri string) (name string, ok bool) {
	a, err := pathOf(folder)
	b, other := pathOf(strings.TrimSuffix(uri, "/"))
	return path.Base(b), err == nil && other == nil && path.Dir(b) == a
}
