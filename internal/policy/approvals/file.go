package approvals

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/skill"
)

// Load reads the file at path. A file that does not exist has no approvals. The Book is never nil:
// if the file cannot be read, the Book approves nothing, and its Err returns the error. The error
// is a [*jsonfile.Error] or an [*fs.PathError].
func Load(path string) (*Book, error) {
	b, _, err := load(path)
	return b, err
}

// load is like [Load]. It also returns the bytes of the file, or nil if the file does not exist.
func load(path string) (*Book, []byte, error) {
	data, err := edit.Read(path, maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return &Book{}, nil, nil
	}
	var b *Book
	if err == nil {
		b, err = parse(data)
	}
	if err != nil {
		return &Book{err: withoutPath(err)}, nil, err
	}
	return b, data, nil
}

// withoutPath returns the error without the path of the file, so that clients may see it.
func withoutPath(err error) error {
	if errors.Is(err, edit.ErrIrregular) {
		return edit.ErrIrregular
	}
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return errors.New(skill.Reason(err))
	}
	return err
}

// Change reads the file at path, changes its approvals, and writes the file atomically. Meanwhile,
// other callers get [edit.ErrLocked]. If change fails, or the file cannot be read, nothing is
// written. Only the owner can read a new file; an existing one keeps its permissions.
func Change(path string, change func(*Book) error) error {
	unlock, err := edit.Lock(edit.Named(path))
	if err != nil {
		return err
	}
	defer unlock()
	b, old, err := load(path)
	if err != nil {
		return err
	}
	if err := change(b); err != nil {
		return err
	}
	data := b.Marshal()
	if _, err := parse(data); err != nil {
		return fmt.Errorf("the approvals would not be readable: %w", err)
	}
	switch {
	case old == nil && len(b.approvals) == 0:
		return nil
	case old == nil:
		return edit.Create(edit.Named(path), data, 0o600)
	}
	return edit.Replace(edit.Named(path), old, data)
}

// Marshal returns the text of the file. Equal approvals have equal texts.
func (b *Book) Marshal() []byte {
	w := writer{[]byte("{\n  \"version\": 1,\n  \"approvals\": {")}
	all := b.All()
	for i, a := range all {
		w.member(i, 4, a.URI)
		w.text("{\n      \"set\": ")
		w.quoted(a.Set.String())
		for _, f := range [...]struct{ name, value string }{
			{"by", a.By}, {"at", a.At.UTC().Format(time.RFC3339)}, {"until", dayOrNone(a.Until)}, {"reason", a.Reason},
		} {
			if f.value != "" {
				w.text(",\n      \"" + f.name + "\": ")
				w.quoted(f.value)
			}
		}
		w.text(",\n      \"files\": {")
		for i, f := range a.Files {
			w.member(i, 8, f.Path)
			w.text("{\"digest\": ")
			w.quoted(f.Digest.String())
			w.text(", \"size\": " + strconv.FormatInt(f.Size, 10) + "}")
		}
		w.end(len(a.Files), 6)
		w.text(",\n      \"fields\": {")
		for i, name := range slices.Sorted(maps.Keys(a.Fields)) {
			w.member(i, 8, name)
			w.quoted(a.Fields[name].String())
		}
		w.end(len(a.Fields), 6)
		w.text(",\n      \"facts\": {")
		for i, name := range slices.Sorted(maps.Keys(a.Facts)) {
			w.member(i, 8, name)
			w.text("[")
			for i, value := range a.Facts[name] {
				if i > 0 {
					w.text(", ")
				}
				w.quoted(value)
			}
			w.text("]")
		}
		w.end(len(a.Facts), 6)
		w.text("\n    }")
	}
	w.end(len(all), 2)
	w.text("\n}\n")
	return w.b
}

func dayOrNone(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return day(t)
}

// writer appends JSON.
type writer struct{ b []byte }

func (w *writer) text(s string)   { w.b = append(w.b, s...) }
func (w *writer) quoted(s string) { w.b = display.AppendJSONString(w.b, s) }

// member begins the i-th member of an object on a line of its own.
func (w *writer) member(i, indent int, key string) {
	if i > 0 {
		w.text(",")
	}
	w.line(indent)
	w.quoted(key)
	w.text(": ")
}

// end ends an object with n members.
func (w *writer) end(n, indent int) {
	if n > 0 {
		w.line(indent)
	}
	w.text("}")
}

func (w *writer) line(indent int) {
	w.b = append(append(w.b, '\n'), bytes.Repeat([]byte(" "), indent)...)
}

// StampOf returns the stamp of a file of approvals, or zero on error.
func StampOf(file string) skill.Stamp {
	info, err := os.Stat(file)
	if err != nil {
		return skill.Stamp{}
	}
	return skill.StampOf(info)
}
