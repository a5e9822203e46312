package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// Contract 001: read_file_in_skill(skill_name, file_path).

var readFileSchema = json.RawMessage(`{"type":"object","properties":{"skill_name":{"type":"string","description":"Name of the skill (folder name containing the file)"},"file_path":{"type":"string","description":"Relative path to file within skill folder (e.g., 'examples/usage.py', 'docs/api.md')"}},"required":["skill_name","file_path"]}`)

var defaultReadFileSchema = json.RawMessage(`{"type":"object","properties":{"skill_name":{"type":"string","description":"Name of the skill, as find_skills gives it or as listed; one with a slash, a backslash or two dots in it by its folder"},"file_path":{"type":"string","description":"Path of the file relative to the skill's folder, for example 'examples/usage.py'"}},"required":["skill_name","file_path"]}`)

const defaultReadFileDescription = `Read a file of a skill: what its SKILL.md refers to, such as references, examples or scripts. The path is relative to the skill's folder. Naming a folder lists what it holds.`

// FileResult is contract 001's result. Content, SizeBytes and Encoding belong to
// a success, Error to a failure.
type FileResult struct {
	Success   bool
	SkillName string
	FilePath  string
	Content   string
	SizeBytes int64
	Encoding  string
	Error     string
}

// MarshalJSON writes the contract's success or error shape.
func (r FileResult) MarshalJSON() ([]byte, error) {
	b := []byte(`{"success":`)
	if r.Success {
		b = append(b, `true,"skill_name":`...)
	} else {
		b = append(b, `false,"skill_name":`...)
	}
	b = skill.AppendJSONString(b, r.SkillName)
	b = append(b, `,"file_path":`...)
	b = skill.AppendJSONString(b, r.FilePath)
	if !r.Success {
		b = append(b, `,"error":`...)
		return append(skill.AppendJSONString(b, r.Error), '}'), nil
	}
	b = append(b, `,"content":`...)
	b = skill.AppendJSONString(b, r.Content)
	b = fmt.Appendf(b, `,"size_bytes":%d,"encoding":`, r.SizeBytes)
	return append(skill.AppendJSONString(b, r.Encoding), '}'), nil
}

// defaultReadFile finds the skill by the name that the listing shows, then by
// its folder.
func defaultReadFile() *Tool {
	return newReadFile(defaultReadFileDescription, defaultReadFileSchema, func(v catalog.View, name string) *catalog.Entry {
		if e := resolve(v, name, false); e != nil {
			return e
		}
		if e := v.ServedInFolder(name); e != nil {
			return e
		}
		if e := v.InFolder(name); e != nil && isDenied(e) {
			return e
		}
		return nil
	}, true)
}

// newReadFile makes the tool. served: of a skill whose own file is denied the
// others are neither read, since it is not served.
func newReadFile(description string, schema json.RawMessage, find func(catalog.View, string) *catalog.Entry, served bool) *Tool {
	return &Tool{
		Contract: "001", Name: "read_file_in_skill", Title: "Read File in Skill", Schema: schema,
		describe: func(catalog.View, Client) string { return description },
		call: func(ctx context.Context, h *Host, args arguments) (Result, error) {
			name, _, err := args.text("skill_name")
			path, _, pathErr := args.text("file_path")
			if err = cmp.Or(err, pathErr); err != nil {
				return malformedFile(name, path, err), nil
			}
			v, err := h.Catalog.View(ctx)
			if err != nil {
				return Result{}, err
			}
			r, err := readFile(ctx, h, v, name, path, find, served)
			if err != nil {
				return Result{}, err
			}
			return r.result(), nil
		},
		malformed: func(_ context.Context, _ *Host, err error) (Result, error) { return malformedFile("", "", err), nil },
	}
}

func (r FileResult) result() Result {
	if !r.Success {
		return Result{Text: "ERROR: " + r.Error, Object: r, IsError: true}
	}
	return Result{Text: r.Content, Object: r}
}

func malformedFile(name, path string, err error) Result {
	return FileResult{SkillName: skill.Echo(name), FilePath: skill.Echo(path), Error: invalidArguments + err.Error()}.result()
}

// validFolderName is the contracts' rule for a skill's name in a path.
func validFolderName(name string) bool {
	return name != "" && name != "." && len(name) <= 255 && !strings.ContainsAny(name, "/\\\x00") && !strings.Contains(name, "..")
}

// readFile checks in the order of the contract and reads the file as it is now.
// The error is the context's.
func readFile(ctx context.Context, h *Host, v catalog.View, name, path string, find func(catalog.View, string) *catalog.Entry, served bool) (FileResult, error) {
	r := FileResult{SkillName: skill.Echo(name), FilePath: skill.Echo(path)} // until it is known to be right
	fail := func(format string, args ...any) (FileResult, error) {
		r.Error = fmt.Sprintf(format, args...)
		return r, nil
	}
	if !validFolderName(name) {
		return fail("Invalid skill name: must not contain special characters")
	}
	if path == "" {
		return fail("Invalid file path: must not be empty")
	}
	v, e, _ := h.find(ctx, v, name, find)
	file, err := skill.FilePath(path)
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case e == nil && deniedFolder(v, name) != nil && err == nil:
		return fail("Cannot read file '%s': %s", r.FilePath, skill.Reason(fs.ErrPermission))
	case e == nil && deniedFolder(v, name) != nil:
		return fail("Path traversal detected: cannot access files outside skill folder")
	case e == nil:
		return fail("Skill '%s' not found in skills folder", r.SkillName)
	case !e.ModelInvocable:
		return fail("%s", notForModels(name))
	}
	if err == nil && served && e.Status == catalog.Skipped {
		err = fs.ErrPermission
	}
	if err == nil && skill.Hidden(file) {
		err = fs.ErrNotExist // dot-entries are served by no surface
	}
	if err == nil && !v.Innermost(e, file).ModelInvocable {
		err = fs.ErrNotExist // of a skill inside this one, which its author keeps from models
	}
	var data []byte
	if err == nil {
		if data, err = v.ReadFile(ctx, e, file); errors.Is(err, fs.ErrNotExist) && vanished(ctx, v, e) {
			err = errFolderGone
		}
	}
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	switch {
	case errors.Is(err, skill.ErrOutside):
		return fail("Path traversal detected: cannot access files outside skill folder")
	case errors.Is(err, errFolderGone):
		return fail("Skill '%s' not found in skills folder", r.SkillName)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fail("File '%s' not found in skill '%s'", r.FilePath, r.SkillName)
	case err != nil:
		return fail("Cannot read file '%s': %s", r.FilePath, readReason(ctx, v, e, file, err))
	}
	text, encoding, ok := skill.DecodeText(data)
	if !ok {
		return fail("Cannot read file '%s': it is binary (%d bytes)", r.FilePath, len(data))
	}
	return FileResult{Success: true, SkillName: name, FilePath: path, Content: text, SizeBytes: int64(len(data)), Encoding: encoding}, nil
}

// deniedFolder finds a folder with this name that may not be looked into.
func deniedFolder(v catalog.View, name string) *catalog.Denied {
	return v.Denied(func(folder string) bool { return folder == name })
}

// isDenied reports whether a skill is skipped for lack of permission alone.
func isDenied(e *catalog.Entry) bool {
	p, _ := e.SkipReason()
	return p.Rule == skill.RuleFilePermission
}

// vanished reports whether the skill's folder is there no more.
func vanished(ctx context.Context, v catalog.View, e *catalog.Entry) bool {
	gone, _ := catalog.Within(ctx, v, e, func() bool {
		_, err := fs.Stat(e.FS, ".")
		return errors.Is(err, fs.ErrNotExist)
	})
	return gone
}

// directoryEntries is how many entries a directory's error names, so that the
// model's next call succeeds.
const directoryEntries = 20

func readReason(ctx context.Context, v catalog.View, e *catalog.Entry, file string, err error) string {
	if !errors.Is(err, skill.ErrNotRegular) {
		return skill.Reason(err)
	}
	entries, dirErr := catalog.Within(ctx, v, e, func() []fs.DirEntry {
		entries, err := fs.ReadDir(e.FS, file)
		if err != nil {
			return nil
		}
		return append([]fs.DirEntry{}, entries...) // not nil: it can be read
	})
	if dirErr != nil || entries == nil {
		return skill.Reason(err)
	}
	var names []string
	for _, d := range entries {
		if strings.HasPrefix(d.Name(), ".") || skill.CleanPath(d.Name()) != nil {
			continue // not to be had by any path
		}
		if len(names) == directoryEntries {
			names = append(names, "…")
			break
		}
		n := skill.Echo(d.Name())
		if d.IsDir() {
			n += "/"
		}
		names = append(names, n)
	}
	if len(names) == 0 {
		return "it is an empty directory"
	}
	return "it is a directory; it holds: " + strings.Join(names, ", ")
}
