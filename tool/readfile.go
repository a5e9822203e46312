package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
	"github.com/knack-dev/knack/tool/lookup"
	"github.com/knack-dev/knack/tool/profile"
)

// Contract 001: read_file_in_skill(skill_name, file_path).

var readFileSchema = json.RawMessage(`{"type":"object","properties":{"skill_name":{"type":"string","description":"Name of the skill (folder name containing the file)"},"file_path":{"type":"string","description":"Relative path to file within skill folder (e.g., 'examples/usage.py', 'docs/api.md')"}},"required":["skill_name","file_path"]}`)

const readFileDescription = `Read any file within a skill's folder. Use this when SKILL.MD references additional documentation, examples, or configuration files. Path must be relative to skill folder.`

// fileResult is contract 001's result. A success has Content, SizeBytes and Encoding, a
// failure has Error.
type fileResult struct {
	Success   bool
	SkillName string
	FilePath  string
	Content   string
	SizeBytes int64
	Encoding  string
	Error     string
}

// Fields implements [Object]: the contract's success or error shape.
func (r fileResult) Fields() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		switch ok := yield("success", r.Success) && yield("skill_name", r.SkillName) && yield("file_path", r.FilePath); {
		case !ok:
		case r.Success:
			_ = yield("content", r.Content) && yield("size_bytes", r.SizeBytes) && yield("encoding", r.Encoding)
		default:
			yield("error", r.Error)
		}
	}
}

// MarshalJSON writes the fields.
func (r fileResult) MarshalJSON() ([]byte, error) { return marshal(r), nil }

// runnerReadFile returns the tool as contract 001 defines it. It finds the skill by its folder,
// then by its frontmatter name.
func runnerReadFile() *Tool {
	return &Tool{
		Contract: "001", Name: "read_file_in_skill", Title: "Read File in Skill", Schema: readFileSchema,
		skillKeys: []string{"skill_name"}, fileKeys: []string{"file_path"},
		describe: func(catalog.View, profile.Client) string { return readFileDescription },
		call: func(ctx context.Context, h *Host, args arguments) (Result, error) {
			name, _, err := args.name("skill_name")
			path, _, pathErr := args.name("file_path")
			if err = cmp.Or(err, pathErr); err != nil {
				return malformedFile(name, path, err), nil
			}
			v, err := h.Catalog.View(ctx)
			if err != nil {
				return Result{}, err
			}
			r, err := fileReader{find: byFolder}.read(ctx, h, v, name, path)
			if err != nil {
				return Result{}, err
			}
			return r.result(), nil
		},
		malformed: func(_ context.Context, _ *Host, err error) (Result, error) { return malformedFile("", "", err), nil },
	}
}

func (r fileResult) result() Result {
	if !r.Success {
		return Result{Text: "ERROR: " + r.Error, Object: r, IsError: true}
	}
	return Result{Text: r.Content, Object: r}
}

func malformedFile(name, path string, err error) Result {
	return fileResult{SkillName: display.Echo(name), FilePath: display.Echo(path), Error: invalidArguments + err.Error()}.result()
}

// validFolderName reports whether the contracts allow a name as part of a path.
func validFolderName(name string) bool {
	return name != "" && name != "." && len(name) <= 255 && !strings.ContainsAny(name, "/\\\x00") && !strings.Contains(name, "..")
}

// fileReader reads files by the rules of one set of tools.
type fileReader struct {
	find func(v catalog.View, name string) *catalog.Entry
	// relative, if not nil, converts a path in another form to a path below the skill's folder.
	relative func(ctx context.Context, h *Host, v catalog.View, e *catalog.Entry, path string) string
	// served is set if the files of a skill cannot be read while its SKILL.md is denied, because
	// such a skill is not served.
	served bool
}

// fileRead is a requested file, with its skill and path if they are known.
type fileRead struct {
	fileResult
	view  catalog.View
	entry *catalog.Entry
	file  string // its path below the skill's folder
	cause error  // why it cannot be read
}

var (
	errNoSkill  = errors.New("there is no such skill")
	errBinary   = errors.New("it is binary")
	errControls = errors.New("most of it is control characters, with which an answer would be too long")
)

// read makes the contract's checks in their order, and reads the current file. The error is the
// context's.
func (f fileReader) read(ctx context.Context, h *Host, v catalog.View, name, path string) (fileRead, error) {
	r := fileRead{fileResult: fileResult{SkillName: display.Echo(name), FilePath: display.Echo(path)}} // the echoes are used until both are known to be valid
	fail := func(format string, args ...any) (fileRead, error) {
		r.Error = fmt.Sprintf(format, args...)
		return r, nil
	}
	if !validFolderName(name) {
		return fail("Invalid skill name: must not contain special characters")
	}
	if path == "" {
		return fail("Invalid file path: must not be empty")
	}
	v, e, _, unsure := h.InFolder(ctx, v, name, f.find)
	if e != nil && f.relative != nil {
		path = f.relative(ctx, h, v, e, path)
	}
	file, err := skill.FilePath(path)
	r.view, r.entry, r.file = v, e, file
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case e == nil && deniedFolder(v, name) != nil && err == nil:
		return fail("Cannot read file '%s': %s", r.FilePath, skill.Reason(fs.ErrPermission))
	case e == nil && deniedFolder(v, name) != nil:
		return fail("Path traversal detected: cannot access files outside skill folder")
	case e == nil && unsure != nil:
		r.cause = unsure
		return fail("Cannot read file '%s': %s", r.FilePath, unsure)
	case e == nil:
		r.cause = errNoSkill
		return fail("Skill '%s' not found in skills folder", r.SkillName)
	case !e.ModelInvocable:
		return fail("%s", lookup.NotForModels(name))
	}
	if err == nil && f.served && e.Status == catalog.Skipped {
		if err = fs.ErrPermission; e.HeldBack() {
			err = e.Fault()
		}
	}
	if err == nil && skill.Hidden(file) {
		err = fs.ErrNotExist // no surface serves dot-entries
	}
	if err == nil && !v.Innermost(e, file).ModelInvocable {
		err = fs.ErrNotExist // the file belongs to a nested skill that is not for models
	}
	var data []byte
	if err == nil {
		if data, err = v.ReadFile(ctx, e, file, fileCopies); errors.Is(err, fs.ErrNotExist) && vanished(ctx, v, e) {
			err = errFolderGone
		}
	}
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	r.cause = err
	switch {
	case errors.Is(err, skill.ErrOutside):
		return fail("Path traversal detected: cannot access files outside skill folder")
	case errors.Is(err, errFolderGone):
		return fail("Skill '%s' not found in skills folder", r.SkillName)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		r.cause = fs.ErrNotExist
		return fail("File '%s' not found in skill '%s'", r.FilePath, r.SkillName)
	case err != nil:
		return fail("Cannot read file '%s': %s", r.FilePath, readReason(ctx, v, e, file, err))
	}
	if !utf8.Valid(data) { // decoding needs a copy and some buffers
		if err := limit.Reserve(ctx, 2*int64(len(data))); err != nil {
			return r, err
		}
	}
	text, encoding, ok := display.Decode(data)
	switch {
	case !ok:
		r.cause = errBinary
	case display.Swells(text):
		r.cause = errControls
	}
	if r.cause != nil {
		return fail("Cannot read file '%s': %s (%d bytes)", r.FilePath, r.cause, len(data))
	}
	r.fileResult = fileResult{Success: true, SkillName: name, FilePath: path, Content: text, SizeBytes: int64(len(data)), Encoding: encoding}
	return r, nil
}

// fileCopies is the memory that an answer with a file needs, as a multiple of the file's size. The
// answer contains the text, which escapes may lengthen, and the object.
const fileCopies = 4

// deniedFolder finds a folder with this name that cannot be read for lack of permission.
func deniedFolder(v catalog.View, name string) *catalog.Denied {
	return v.Denied(func(folder string) bool { return folder == name })
}

// isDenied reports whether a skill is skipped only for lack of permission.
func isDenied(e *catalog.Entry) bool {
	p, _ := e.SkipReason()
	return p.Rule == frontmatter.FilePermission
}

// vanished reports whether the skill's folder no longer exists.
func vanished(ctx context.Context, v catalog.View, e *catalog.Entry) bool {
	gone, _ := catalog.Await(ctx, v, e, func() bool {
		_, err := fs.Stat(e.FS, ".")
		return errors.Is(err, fs.ErrNotExist)
	})
	return gone
}

// directoryEntries is the number of entries that the error for a directory names. With them, the
// model's next call can succeed.
const directoryEntries = 20

func readReason(ctx context.Context, v catalog.View, e *catalog.Entry, file string, err error) string {
	if !errors.Is(err, skill.ErrNotRegular) {
		return skill.Reason(err)
	}
	if limit.Reserve(ctx, skill.FolderMemory) != nil { // once, although the folder may be read again
		return skill.Reason(err)
	}
	names, ok := folderNames(ctx, v, e, file, directoryEntries)
	switch {
	case !ok:
		return skill.Reason(err)
	case len(names) == 0:
		return "it is an empty directory"
	}
	return "it is a directory; it holds: " + strings.Join(names, ", ")
}

// folderNames returns the names in a folder of the skill, up to most names and then an ellipsis. It
// leaves out names that no path can contain. Folders end in a slash. ok is false if the folder
// cannot be listed.
func folderNames(ctx context.Context, v catalog.View, e *catalog.Entry, folder string, most int) (names []string, ok bool) {
	entries, err := catalog.Await(ctx, v, e, func() []fs.DirEntry {
		entries, err := fs.ReadDir(e.FS, folder)
		if err != nil {
			return nil
		}
		return append([]fs.DirEntry{}, entries...) // not nil, which would mean that the folder cannot be read
	})
	if err != nil || entries == nil {
		return nil, false
	}
	for _, d := range entries {
		if strings.HasPrefix(d.Name(), ".") || skill.CleanPath(d.Name()) != nil {
			continue // no path can contain this name
		}
		if len(names) == most {
			return append(names, display.Ellipsis), true
		}
		n := display.Echo(d.Name())
		if d.IsDir() {
			n += "/"
		}
		names = append(names, n)
	}
	return names, true
}
