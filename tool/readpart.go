package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/lookup"
	"github.com/knack-dev/knack/tool/profile"
)

// read_file_in_skill in the default set adapts contract 001 to current models. It returns long
// files in parts, lists folders, and accepts the path forms that models write.

var defaultReadFileSchema = json.RawMessage(`{"type":"object","properties":{` +
	`"skill_name":{"type":"string","description":"Name of the skill, as find_skills gives it or as listed"},` +
	`"file_path":{"type":"string","description":"Path of the file relative to the skill's folder, for example 'examples/usage.py'; '.' lists the folder"},` +
	`"offset":{"type":"integer","minimum":1,"description":"Line to begin at, to read on in a long file; the first is 1"},` +
	`"limit":{"type":"integer","minimum":1,"description":"How many lines at most"},` +
	`"column":{"type":"integer","minimum":1,"description":"Character of that line to begin at, for a line that is longer than an answer; the first is 1"}},` +
	`"required":["skill_name","file_path"]}`)

const defaultReadFileDescription = `Read a file of a skill: what its SKILL.md refers to, such as references, examples or scripts; or list one of its folders.

The path is relative to the skill's folder. A file comes whole, unless it is longer than your application shows of an answer: then the last line says how long it is and which call reads on.`

// listedFiles is the largest number of entries in one listing. The largest folder of
// 145,005 real skills has 63,557 entries; a typical one has a few.
const listedFiles = 10_000

// defaultFiles finds the skill by the name in the listing, then by its folder.
var defaultFiles = fileReader{
	find: func(v catalog.View, name string) *catalog.Entry {
		if e := resolve(v, name, false); e != nil {
			return e
		}
		if e := v.ServedInFolder(name); e != nil {
			return e
		}
		if e := v.InFolder(name); e != nil && (isDenied(e) || e.HeldBack()) {
			return e
		}
		return nil
	},
	relative: relativeToSkill,
	served:   true,
}

func defaultReadFile() *Tool {
	return &Tool{
		Contract: "001", Name: "read_file_in_skill", Title: "Read File in Skill", Schema: defaultReadFileSchema,
		Meta:      map[string]any{resultSizeKey: profile.MaxResult},
		keys:      []string{"skill_name", "file_path", "offset", "limit", "column"},
		aliases:   []string{"name", "skill", "path", "file"},
		skillKeys: namingSkill(), fileKeys: namingFile(),
		describe: func(catalog.View, profile.Client) string { return defaultReadFileDescription },
		call: func(ctx context.Context, h *Host, args arguments) (Result, error) {
			name, path, s, err := fileArguments(args)
			if err != nil {
				return failure("ERROR: %s%s", invalidArguments, err), nil
			}
			v, err := h.Catalog.View(ctx)
			if err != nil {
				return Result{}, err
			}
			if !validFolderName(name) { // the name may still be a listed name, or a URI
				if e := resolve(v, name, true); e != nil {
					name = fileRead{view: v, entry: e}.name()
				}
			}
			r, err := defaultFiles.read(ctx, h, v, name, path)
			if err != nil {
				return Result{}, err
			}
			return r.forModel(ctx, h, s), nil
		},
		malformed: func(_ context.Context, _ *Host, err error) (Result, error) {
			return failure("ERROR: %s%s", invalidArguments, err), nil
		},
	}
}

// namingSkill and namingFile return the argument keys for a skill and for a file. The first key is
// the one of the schema. Models use the others too.
func namingSkill() []string { return []string{"skill_name", "name", "skill"} }
func namingFile() []string  { return []string{"file_path", "path", "file"} }

// fileArguments reads the arguments. It also accepts the other keys that models use.
func fileArguments(args arguments) (name, path string, s span, err error) {
	name, err = args.first(namingSkill())
	path, bad := args.first(namingFile())
	err = cmp.Or(err, bad)
	if name == "" && err == nil {
		err = errors.New("'skill_name' is missing; give the name of a skill")
	}
	number := func(key string) int {
		n, bad := args.lenientNumber(key, 0, math.MaxInt32, 0) // some models write 0 if they mean no value
		if bad != nil {
			bad = fmt.Errorf("'%s' must be a whole number from 1 to %d", key, math.MaxInt32)
		}
		err = cmp.Or(err, bad)
		return n
	}
	s = span{offset: number("offset"), limit: number("limit"), column: number("column")}
	return name, cmp.Or(path, "."), s, err
}

// relativeToSkill converts a path below the skill's base directory to the path below the skill's
// folder. The tool skill prints the base directory.
func relativeToSkill(ctx context.Context, h *Host, v catalog.View, e *catalog.Entry, path string) string {
	if isSkillURI(path) {
		if uri, err := skill.ParseURI(strings.TrimSpace(path)); err == nil {
			if at, file := v.At(uri); at == e {
				return file
			}
		}
		return path
	}
	dir := strings.TrimSuffix(filepath.ToSlash(h.Base(ctx, e)), "/")
	rest, ok := strings.CutPrefix(filepath.ToSlash(path), dir)
	if !ok || rest != "" && rest[0] != '/' {
		return path
	}
	return "." + rest
}

// forModel fits the answer to the client's limits.
func (r fileRead) forModel(ctx context.Context, h *Host, s span) Result {
	client := profile.FromContext(ctx).Profile()
	text, size := r.Content, int(r.SizeBytes)
	switch {
	case r.Success:
	case errors.Is(r.cause, skill.ErrNotRegular):
		names, ok := folderNames(ctx, r.view, r.entry, r.file, listedFiles)
		if !ok {
			return r.refused(ctx, h)
		}
		text = r.listing(names)
		size = len(text)
	default:
		return r.refused(ctx, h)
	}
	if text == "" {
		return Result{Text: "[The file '" + display.Echo(r.file) + "' is empty.]"}
	}
	limits := boundsBelow(client, "")
	p, err := partOf(text, s, limits, limits.above(longestNote(client, r.name(), r.file), 0))
	if err != nil {
		return failure("ERROR: '%s' has no such part: %s", display.Echo(r.file), err)
	}
	return Result{Text: p.withNote(p.note(client, r.name(), r.file, size))}
}

// name returns the skill's name for the tools of the default set.
func (r fileRead) name() string {
	if name := loadName(r.view, r.entry); validFolderName(name) {
		return name
	}
	return r.entry.Folder()
}

// listing returns the entries of a folder.
func (r fileRead) listing(names []string) string {
	what := "The skill '" + display.Echo(r.name()) + "'"
	if r.file != "." {
		what = "The folder '" + display.Echo(r.file) + "' of the skill '" + display.Echo(r.name()) + "'"
	}
	if len(names) == 0 {
		return what + " contains no files."
	}
	return what + " contains:\n" + strings.Join(names, "\n") + "\n"
}

// refused returns the answer for a file that cannot be read, with the fix.
func (r fileRead) refused(ctx context.Context, h *Host) Result {
	text := "ERROR: " + r.Error
	switch {
	case errors.Is(r.cause, errNoSkill), r.entry == nil && lookup.IsUnsure(r.cause):
		text = withLines(text, hints(r.view, r.SkillName))
	case errors.Is(r.cause, fs.ErrNotExist):
		text += ` (the file_path "." lists the files)`
	case errors.Is(r.cause, errBinary), errors.Is(r.cause, errControls):
		if dir := h.Base(ctx, r.entry); !isSkillURI(dir) {
			text += fmt.Sprintf("; open it with a tool of your own: %s", filepath.Join(dir, filepath.FromSlash(r.file)))
		}
	}
	return Result{Text: text, IsError: true}
}
