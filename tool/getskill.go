package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/lookup"
	"github.com/knack-dev/knack/tool/profile"
)

// Contract 000: get_skill(skill_name) and its list_skills. It names a skill by its folder and
// ignores the frontmatter.

var getSkillSchema = json.RawMessage(`{"type":"object","properties":{"skill_name":{"type":"string","description":"Name of the skill (folder name)"}},"required":["skill_name"]}`)

const getSkillDescription = `Read the SKILL.MD documentation for a specific skill. Returns the full text content of the documentation file.`

var noArguments = json.RawMessage(`{"type":"object","properties":{}}`)

// docNames lists the file names that contract 000 accepts for the documentation of a skill, in
// order of preference.
var docNames = [...]string{"SKILL.MD", "SKILL.md"}

// getSkillResult is contract 000's answer: a name and the documentation, or only an error.
type getSkillResult struct {
	SkillName     string
	Documentation string
	Error         string
}

// Fields implements [Object]: the contract's success or error shape.
func (r getSkillResult) Fields() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if r.Error != "" {
			yield("error", r.Error)
			return
		}
		_ = yield("skill_name", r.SkillName) && yield("documentation", r.Documentation)
	}
}

// MarshalJSON writes the fields.
func (r getSkillResult) MarshalJSON() ([]byte, error) { return marshal(r), nil }

// documentCopies is the memory that an answer with a documentation needs, as a multiple of its
// size. JSON makes the documentation at most six times as long, and the answer contains it twice,
// as text and as an object. All of the memory is reserved at once. Calls that reserved more later
// could wait for each other.
const documentCopies = 12

// result returns the answer, with the fields also as text.
func (r getSkillResult) result() Result {
	var text strings.Builder
	_ = rawjson.Write(&text, func(e *rawjson.Encoder) { e.Object(r.Fields()) }, func(size int64) error { // writing to a Builder never fails
		text.Grow(int(size))
		return nil
	})
	return Result{Text: text.String(), Object: r, IsError: r.Error != ""}
}

// folderList is the answer of the runner set's list_skills.
type folderList struct {
	Skills []string `json:"skills"` // folder names, sorted
	// Incomplete is the reason why skills may be missing. It is usually empty, and then omitted.
	Incomplete string `json:"incomplete,omitempty"`
}

func runnerList() *Tool {
	return &Tool{
		Contract: "000", Name: "list_skills", Title: "List Skills", Schema: noArguments,
		describe: func(catalog.View, profile.Client) string { return "Lists the available skills." },
		call: func(ctx context.Context, h *Host, _ arguments) (Result, error) {
			v, err := h.Catalog.View(ctx)
			if err != nil {
				return Result{}, err
			}
			list := folderList{Skills: documentedFolders(v)}
			b := []byte(`{"skills":[`)
			for i, name := range list.Skills {
				if i > 0 {
					b = append(b, ',')
				}
				b = display.AppendJSONString(b, name)
			}
			b = append(b, ']')
			if lacks := v.Incomplete(); lacks != nil {
				list.Incomplete = lacks.Error()
				b = display.AppendJSONString(append(b, `,"incomplete":`...), list.Incomplete)
			}
			return Result{Text: string(display.AppendVisibleJSON(nil, append(b, '}'))), Object: list, Meta: incompleteMeta(v)}, nil
		},
	}
}

// documentedFolders returns the folders in which get_skill looks for documentation.
func documentedFolders(v catalog.View) []string {
	seen := make(map[string]bool, len(v.Entries))
	names := []string{}
	for _, e := range v.Entries {
		if seen[e.Folder()] || !validFolderName(e.Folder()) || e.Unlisted() {
			continue
		}
		seen[e.Folder()] = true
		first := v.InFolder(e.Folder())
		if first.ModelInvocable && !first.HeldBack() && slices.ContainsFunc(docNames[:], func(doc string) bool {
			return first.Entry == doc || slices.Contains(first.Others(), doc)
		}) {
			names = append(names, e.Folder())
		}
	}
	slices.Sort(names)
	return names
}

func getSkill() *Tool {
	return &Tool{
		Contract: "000", Name: "get_skill", Title: "Get Skill", Schema: getSkillSchema, skillKeys: []string{"skill_name"},
		describe: func(catalog.View, profile.Client) string { return getSkillDescription },
		call: func(ctx context.Context, h *Host, args arguments) (Result, error) {
			name, _, err := args.name("skill_name")
			if err != nil {
				return malformedGet(err), nil
			}
			v, err := h.Catalog.View(ctx)
			if err != nil {
				return Result{}, err
			}
			r, err := documentation(ctx, h, v, name)
			if err = cmp.Or(ctx.Err(), err); err != nil {
				return Result{}, err
			}
			return r.result(), nil
		},
		malformed: func(_ context.Context, _ *Host, err error) (Result, error) { return malformedGet(err), nil },
	}
}

func malformedGet(err error) Result {
	return getSkillResult{Error: invalidArguments + err.Error()}.result()
}

// byFolder finds a skill by its folder or, without such a folder, by its frontmatter name. Both
// must match in case. The frontmatter may be faulty.
func byFolder(v catalog.View, name string) *catalog.Entry {
	if e := v.InFolder(name); e != nil {
		return e
	}
	return v.First(func(e *catalog.Entry) bool { return e.Name == name })
}

// documentation reads the current documentation of a skill. The error is [skill.ErrNoRoom].
func documentation(ctx context.Context, h *Host, v catalog.View, name string) (getSkillResult, error) {
	echo := display.Echo(name)
	fail := func(format string, args ...any) (getSkillResult, error) {
		return getSkillResult{Error: fmt.Sprintf(format, args...)}, nil
	}
	if !validFolderName(name) {
		return fail(`Invalid skill name: '%s'. Skill names must not contain '/', '\', or '..'`, echo)
	}
	v, e, folder, unsure := h.InFolder(ctx, v, name, byFolder)
	switch {
	case e == nil && deniedFolder(v, name) != nil:
		return fail("Permission denied reading SKILL.MD for skill '%s'", echo)
	case e == nil && unsure != nil:
		return fail("Error reading SKILL.MD for skill '%s': %s", echo, unsure)
	case e == nil && folder:
		return fail("SKILL.MD not found for skill '%s'", echo)
	case e == nil:
		return fail("Skill '%s' not found in skills folder", echo)
	}
	if !e.ModelInvocable {
		return fail("%s", lookup.NotForModels(name))
	}
	data, _, err := v.ReadReserved(ctx, e, skill.MaxSkillMD, documentCopies, func(most int64) ([]byte, skill.Stamp, error) {
		return readDocument(e, most)
	})
	e.RecordRead(ctx, skill.MainFile, data, err)
	switch {
	case err == nil:
		return getSkillResult{SkillName: name, Documentation: display.TextOf(data)}, nil
	case errors.Is(err, skill.ErrNoRoom):
		return getSkillResult{}, err
	case errors.Is(err, errFolderGone):
		return fail("Skill '%s' not found in skills folder", echo)
	case errors.Is(err, fs.ErrNotExist):
		return fail("SKILL.MD not found for skill '%s'", echo)
	case errors.Is(err, fs.ErrPermission):
		return fail("Permission denied reading SKILL.MD for skill '%s'", echo)
	case errors.Is(err, skill.ErrTooLarge):
		return fail("SKILL.MD too large (>1MB) for skill '%s'", echo)
	case errors.Is(err, skill.ErrNotUTF8):
		return fail("SKILL.MD contains invalid UTF-8 for skill '%s'", echo)
	}
	return fail("Error reading SKILL.MD for skill '%s': %s", echo, skill.Reason(err))
}

var errFolderGone = errors.New("the folder is gone")

// readDocument reads the first of docNames in the folder, up to most bytes. It compares the names
// with the directory's entries, so the answer is the same on a case-insensitive file system.
func readDocument(e *catalog.Entry, most int64) ([]byte, skill.Stamp, error) {
	entries, err := fs.ReadDir(e.FS, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, skill.Stamp{}, errFolderGone
	}
	many := errors.Is(err, skill.ErrTooLarge)
	if err != nil && !many {
		return nil, skill.Stamp{}, err
	}
	for _, doc := range docNames {
		data, stamp, err := skill.ReadFile(e.FS, doc, most)
		if err == nil && !utf8.Valid(data) {
			err = skill.ErrNotUTF8
		}
		exists := many && err == nil || slices.ContainsFunc(entries, func(d fs.DirEntry) bool { return d.Name() == doc })
		if exists || errors.Is(err, skill.ErrOutside) { // a link that leads outside is not in the list
			return data, stamp, err
		}
	}
	return nil, skill.Stamp{}, fs.ErrNotExist
}
