// Package lookup finds skills and documents by name, folder and URI. It looks in a catalogue's
// snapshot first. If they are not there, it looks on the disk, so no tool answers "not found" too
// early.
package lookup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/profile"
)

// ErrBusy is the error for a name that is not in the snapshot, if a scan of the folders did not end
// in time.
var ErrBusy = errors.New("the machine is busy, and a scan of the folders of skills has not ended in time; try again in a moment")

// IsUnsure reports whether an error means that a skill may exist although none was found:
// [ErrBusy], a [*catalog.Incomplete], or [skill.ErrUnstable].
func IsUnsure(err error) bool {
	return errors.Is(err, ErrBusy) || errors.Is(err, catalog.ErrLate) || errors.Is(err, skill.ErrUnstable)
}

// Finder finds the skills of a catalogue. All methods may be called from any goroutine.
type Finder struct {
	Catalog *catalog.Catalog
	// Remote is set if the model is on another machine, so that a folder is named by its
	// URI.
	Remote bool
	// Engage, if set, returns a text for skill://engage/SKILL.md, which by contract 004 always has
	// one. It is used, and called at each read, if no skill that models may read has this URI or
	// name.
	Engage func() string

	served  served
	refresh refresh
}

// maxName bounds the names, paths and URIs that are looked up. A folder's name has at most 255
// bytes, and a search for skills goes down at most 12 folders.
const maxName = 4 << 10

// Bounded returns the name, path or URI of a client for a lookup. It cuts a text of more than 4
// KiB. The beginning is still longer than the name of any skill, so nothing is found. An answer
// echoes at most 256 bytes of it.
func Bounded(name string) string {
	if len(name) <= maxName {
		return name
	}
	cut := display.CutBytes(name, maxName+1)
	if strings.Contains(name[len(cut):], "@") { // the @ must stay, so that an echo omits the credentials before it
		cut += "@"
	}
	return cut
}

// BoundedJSON is [Bounded] for a JSON string that has not been decoded. It cuts a string that is
// too long without reading the rest. The decoded result is still longer than any name.
func BoundedJSON(text []byte) []byte {
	const most = maxName + 1
	if len(text) <= 6*most || text[0] != '"' { // JSON writes a byte of the text with at most six bytes
		return text
	}
	at := 1
	for n := 0; n < most && at < len(text)-1; n++ {
		switch {
		case text[at] != '\\':
			at++
		case text[at+1] == 'u':
			at += 6
		default:
			at += 2
		}
	}
	cut := append(slices.Clone(text[:at]), '"')
	if bytes.Contains(text[at:], []byte("@")) || bytes.Contains(text[at:], []byte(`\u0040`)) {
		cut = append(cut[:at], `@"`...)
	}
	return cut
}

// Named finds a skill by its name; see [catalog.Snapshot.Named]. If the view lacks the skill, Named
// looks at the disk and returns a new view. If it finds no skill, unsure is the reason that the
// skill may exist nevertheless, or nil; see [IsUnsure].
func (f *Finder) Named(ctx context.Context, v catalog.View, name string) (now catalog.View, e *catalog.Entry, unsure error) {
	return f.NamedBy(ctx, v, name, func(v catalog.View) *catalog.Entry { return v.Named(name) })
}

// NamedBy is like [Finder.Named], but finds the skill in a view with by.
func (f *Finder) NamedBy(ctx context.Context, v catalog.View, name string, by func(catalog.View) *catalog.Entry) (now catalog.View, e *catalog.Entry, unsure error) {
	if e := by(v); e != nil {
		return v, e, nil
	}
	key := skill.KeyOf(name)
	v, _, unsure = f.Fresh(ctx, v, func(folder string) bool { return skill.KeyOf(folder) == key })
	return v, by(v), unsure
}

// InFolder is like [Finder.Named], for the exact name of a folder. by finds the folder's skill in a
// view. InFolder also reports whether there is such a folder.
func (f *Finder) InFolder(ctx context.Context, v catalog.View, name string, by func(v catalog.View, folder string) *catalog.Entry) (now catalog.View, e *catalog.Entry, folder bool, unsure error) {
	if e := by(v, name); e != nil || v.InFolder(name) != nil {
		return v, e, true, nil
	}
	v, folder, unsure = f.Fresh(ctx, v, func(n string) bool { return n == name })
	if v.InFolder(name) != nil {
		folder, unsure = true, nil
	}
	return v, by(v, name), folder, unsure
}

// maxURIFolders bounds the parts of a URI that are looked up as folders: a label and the depth
// of the search for skills.
const maxURIFolders = 16

// At is [Finder.Named] for the file of a URI; see [catalog.Snapshot.At].
func (f *Finder) At(ctx context.Context, v catalog.View, uri skill.URI) (now catalog.View, e *catalog.Entry, path string, unsure error) {
	if e, path := v.At(uri); e != nil {
		return v, e, path, nil
	}
	keys := map[skill.Key]bool{}
	for segment := range strings.SplitSeq(uri.Path(), "/") {
		if len(keys) < maxURIFolders {
			keys[skill.KeyOf(segment)] = true
		}
	}
	v, _, unsure = f.Fresh(ctx, v, func(folder string) bool { return keys[skill.KeyOf(folder)] })
	e, path = v.At(uri)
	return v, e, path, unsure
}

// Base returns the folder against which the skill's relative paths resolve, in the form that every
// surface uses. It returns the folder's URI if the path cannot be shown in one line.
func (f *Finder) Base(ctx context.Context, e *catalog.Entry) string {
	dir := e.Dir()
	if placed, ok := e.FS.(skill.Placed); ok && dir == "" && !f.Remote {
		dir = placed.Place()
	}
	if f.Remote || profile.FromContext(ctx).Remote || dir == "" || strings.IndexFunc(dir, unicode.IsControl) >= 0 {
		return strings.TrimSuffix(e.URI().String(), "/"+skill.MainFile)
	}
	return dir
}

// NotForModels returns the answer to a model for a skill that its author keeps from models.
func NotForModels(name string) string {
	return fmt.Sprintf("Skill '%s' is not available for model invocation.", display.Echo(name))
}
