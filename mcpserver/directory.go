package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skillsext"
)

// readDirectory lists the direct children of a skill's folder or subfolder as they are on disk now,
// in URI order. It answers for every served skill, published or not. It omits dot files, links that
// leave the skill, names that no URI can contain, and folders deeper than [skill.MaxDepth].
func (s *Server) readDirectory(ctx context.Context, x *exchange) (reply, error) {
	asked, after := x.params.URI, ""
	if asked == "" {
		return reply{}, invalid("resources/directory/read requires the parameter uri: the URI of a directory, without a slash at its end")
	}
	if x.params.Cursor != "" {
		var err error
		if _, after, err = parseCursor(x.params.Cursor); err != nil {
			return reply{}, err
		}
	}
	at, err := s.lookup(ctx, asked, ", without a slash at its end")
	if err != nil {
		return reply{}, err
	}
	v, e := at.view, at.entry
	if e == nil {
		if only := s.engageFile(at.uri); only != nil {
			return listReply("resources", []*mcp.Resource{only}, "", s.cacheable(entryTTL), value), nil
		}
		if at.unsure != nil {
			return reply{}, unsure(at.unsure)
		}
		return reply{}, notFound(asked, "no skill has it")
	}
	if err := limit.Reserve(ctx, skill.FolderMemory); err != nil {
		return reply{}, err
	}
	type folder struct {
		page []*mcp.Resource
		next string
		err  error
	}
	read, err := catalog.Await(ctx, v, e, func() (f folder) {
		f.page, f.next, f.err = childrenAfter(ctx, v, e, at.path, after)
		return f
	})
	switch err = cmp.Or(err, read.err); {
	case errors.Is(err, skill.ErrNotRegular), errors.Is(err, fs.ErrNotExist), errors.Is(err, skill.ErrOutside):
		return reply{}, invalid(display.RedactURI(asked) + " is not a directory resource")
	case err != nil:
		return reply{}, s.internal(fmt.Sprintf("cannot read %s: %s", display.Echo(asked), skill.Reason(err)), err)
	}
	res := listReply("resources", read.page, read.next, s.cacheable(entryTTL), value)
	res.weight = entrySize * len(read.page)
	return res, nil
}

// childrenAfter describes one page of a folder's children whose URIs sort after the given one. It
// also returns the cursor of the next page, if any.
func childrenAfter(ctx context.Context, v catalog.View, e *catalog.Entry, dir, after string) (page []*mcp.Resource, next string, err error) {
	names, err := children(e, dir)
	start := sort.Search(len(names), func(i int) bool { return names[i].uri.String() > after })
	for i, c := range names[start:] {
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		if len(page) == pageSize {
			return page, cursorAfter(0, names[start+i-1].uri.String()), nil
		}
		if r := child(v, e, c); r != nil {
			page = append(page, r)
		}
	}
	return page, "", err
}

// fileEntry is an entry of a folder, with its URI.
type fileEntry struct {
	path string // on disk, below the skill
	uri  skill.URI
}

// entrySize is the approximate memory of one entry of a folder, in bytes.
const entrySize = 300

// children returns the names in a folder that could be served, in URI order.
func children(e *catalog.Entry, dir string) ([]fileEntry, error) {
	if skill.Hidden(dir) || dir != "." && strings.Count(dir, "/") >= skill.MaxDepth {
		return nil, fs.ErrNotExist
	}
	info, err := fs.Stat(e.FS, dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, skill.ErrNotRegular
	}
	entries, err := fs.ReadDir(e.FS, dir)
	if err != nil {
		return nil, err
	}
	out := make([]fileEntry, 0, len(entries))
	for _, d := range entries {
		path := d.Name()
		if dir != "." {
			path = dir + "/" + path
		}
		served := e.ServedPath(path)
		if served == "" {
			continue
		}
		if uri, err := e.FileURI(served); err == nil {
			out = append(out, fileEntry{path, uri})
		}
	}
	slices.SortFunc(out, func(a, b fileEntry) int { return strings.Compare(a.uri.String(), b.uri.String()) })
	return out, nil
}

// child describes one entry as resources/list does. It returns nil if the entry is neither a
// regular file nor a folder, or leads out of the skill.
func child(v catalog.View, e *catalog.Entry, c fileEntry) *mcp.Resource {
	info, err := fs.Stat(e.FS, c.path)
	if err != nil {
		return nil
	}
	r := &mcp.Resource{URI: c.uri.String(), Name: display.OneLine(path.Base(c.path))}
	switch {
	case info.IsDir() && strings.Count(c.path, "/") < skill.MaxDepth:
		r.MIMEType = skillsext.DirectoryType
	case info.Mode().IsRegular():
		r.Size, r.MIMEType = info.Size(), mediaType(c.path)
		if owner, file := v.At(c.uri); owner != nil && file == skill.MainFile {
			return mainResource(owner, info.Size())
		}
	default:
		return nil
	}
	return r
}

// mainResource describes a SKILL.md (SEP-2640, resource metadata).
func mainResource(e *catalog.Entry, size int64) *mcp.Resource {
	return &mcp.Resource{
		URI: e.URI().String(), Name: display.OneLine(e.Name), Description: display.OneLine(e.Description), MIMEType: markdown, Size: size,
		Annotations: modified(e.Stamp),
	}
}

// modified returns the time of a file's last change, or nil if its file system does not record it.
func modified(stamp skill.Stamp) *mcp.Annotations {
	if stamp.MTime <= 0 {
		return nil
	}
	return &mcp.Annotations{LastModified: time.Unix(0, stamp.MTime).UTC().Format(time.RFC3339)}
}
