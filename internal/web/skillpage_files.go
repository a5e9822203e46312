package web

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/web/internal/checks"
	"github.com/knack-dev/knack/skill"
)

// fileRow is one line of the file tree.
type fileRow struct {
	Name, Path, Href, RawHref string
	Depth                     int
	Folder                    bool
	Size                      int64
	Digest, Short             string
}

func (s *Site) filesView(r *request, v catalog.View, e *catalog.Entry, p *skillPage) error {
	if err := limit.Reserve(r.Context(), skill.FolderMemory); err != nil {
		return err
	}
	_, files, err := v.Manifest(r.Context(), e)
	if r.Context().Err() != nil {
		return r.Context().Err()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.Manifest = skill.Reason(err)
		type list struct {
			files []skill.File
			more  bool
		}
		l, within := catalog.Await(r.Context(), v, e, func() list {
			files, more, _ := e.List(r.Context(), checks.MaxFiles)
			return list{files, more}
		})
		if within != nil {
			return readFault(within)
		}
		files, p.AtLeast = l.files, l.more
	} else if err != nil {
		return readFault(err)
	}
	p.NFiles = len(files)
	for _, f := range files {
		p.Total += f.Size
	}
	if p.More = len(files) - shownFiles; p.More > 0 {
		files = files[:shownFiles]
	}
	p.Files = tree(e, files)
	return nil
}

// shownFiles is the maximum number of a skill's files that a page lists.
const shownFiles = 2 * skill.MaxFiles

// tree lists files below rows for their folders.
func tree(e *catalog.Entry, files []skill.File) (rows []fileRow) {
	seen := map[string]bool{".": true}
	for _, f := range files {
		var above []string
		for d := path.Dir(f.Path); !seen[d]; d = path.Dir(d) {
			seen[d] = true
			above = append(above, d)
		}
		for _, d := range slices.Backward(above) {
			rows = append(rows, fileRow{Name: path.Base(d) + "/", Path: d, Depth: strings.Count(d, "/"), Folder: true})
		}
		w := fileRow{Name: path.Base(f.Path), Path: f.Path, Depth: strings.Count(f.Path, "/"), Size: f.Size}
		if f.Digest != (skill.Digest{}) {
			w.Digest = f.Digest.String()
			w.Short = w.Digest[len("sha256:"):][:12]
		}
		if uri, err := e.FileURI(f.Path); err == nil {
			w.Href, w.RawHref = "/skills/"+escapedPath(uri), "/raw/"+escapedPath(uri)
			if f.Path == skill.MainFile {
				w.Href = pageOf(e)
			}
		}
		rows = append(rows, w)
	}
	return rows
}
