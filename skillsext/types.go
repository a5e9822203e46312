package skillsext

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Names of the extension (SEP-2640).
const (
	ExtensionID         = "io.modelcontextprotocol/skills"
	MethodList          = "skills/list"
	MethodGet           = "skills/get"
	MethodReadDirectory = "resources/directory/read"
	// DirectoryType is the media type of a directory resource.
	DirectoryType = "inode/directory"
	// dynamic replaces a manifest if the content has no stable digests.
	dynamic = "dynamic"
)

// Since is the first protocol version whose results contain resultType, ttlMs and cacheScope.
const Since = "2026-07-28"

// The limits of one skill, SKILL.md included (SEP-2640). A host must accept a skill within
// them.
const (
	maxFiles = skill.MaxFiles
	maxBytes = skill.MaxSkillSize
)

// Skill is an entry. It contains everything that a host needs to show a skill, to ask for approval,
// and to verify every file that it reads later.
type Skill struct {
	URI         string      `json:"uri"` // of SKILL.md
	Frontmatter Frontmatter `json:"frontmatter"`
	Resources   Resources   `json:"resources"`
}

// Frontmatter is a SKILL.md's frontmatter as one JSON object, each field as its
// author wrote it, in the author's order.
type Frontmatter json.RawMessage

// MarshalJSON returns the object unchanged.
func (f Frontmatter) MarshalJSON() ([]byte, error) {
	if len(f) == 0 {
		return []byte("{}"), nil
	}
	return f, nil
}

// UnmarshalJSON stores a copy of data.
func (f *Frontmatter) UnmarshalJSON(data []byte) error {
	*f = append((*f)[:0], data...)
	return nil
}

// Map decodes the object. Numbers stay [json.Number].
func (f Frontmatter) Map() (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(f))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, errors.New("frontmatter is not an object")
	}
	return m, nil
}

// Resource is one file of a skill with the digest and size of its raw bytes.
type Resource struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // "sha256:" and 64 lower-case hexadecimal digits
	Size   int64  `json:"size"`
}

// Resources is a skill's complete manifest. If the content is generated, it is a mark instead, and
// there is no manifest.
type Resources struct {
	list    []Resource
	dynamic bool
}

// StaticResources returns a manifest. The manifest shares the slice.
func StaticResources(list ...Resource) Resources { return Resources{list: list} }

// DynamicResources returns the mark for content without stable digests.
func DynamicResources() Resources { return Resources{dynamic: true} }

// IsDynamic reports whether there is no manifest.
func (r Resources) IsDynamic() bool { return r.dynamic }

// List returns the manifest. It must not be changed.
func (r Resources) List() []Resource { return r.list }

// MarshalJSON writes the array, or "dynamic".
func (r Resources) MarshalJSON() ([]byte, error) {
	return r.appendTo(nil), nil
}

// appendTo appends the manifest, or the mark, as JSON. It encodes entries by hand, because
// encoding/json parses the output of a MarshalJSON method again at each enclosing level. A page of
// skills has a hundred entries with some files each, and the parsing would be an eighth of the cost
// of listing them.

func (r Resources) appendTo(b []byte) []byte {
	if r.dynamic {
		return append(b, `"`+dynamic+`"`...)
	}
	b = append(b, '[')
	for i := range r.list {
		if i > 0 {
			b = append(b, ',')
		}
		f := &r.list[i]
		b = display.AppendJSONString(append(b, `{"uri":`...), f.URI)
		b = display.AppendJSONString(append(b, `,"digest":`...), f.Digest)
		b = append(strconv.AppendInt(append(b, `,"size":`...), f.Size, 10), '}')
	}
	return append(b, ']')
}

// AppendJSON appends the entry as JSON. It writes the frontmatter unchanged, so the frontmatter
// must be JSON.
func (s *Skill) AppendJSON(b []byte) []byte {
	if s == nil {
		return append(b, "null"...)
	}
	b = display.AppendJSONString(append(b, `{"uri":`...), s.URI)
	b = append(b, `,"frontmatter":`...)
	if len(s.Frontmatter) == 0 {
		b = append(b, "{}"...)
	}
	b = append(append(b, s.Frontmatter...), `,"resources":`...)
	return append(s.Resources.appendTo(b), '}')
}

// UnmarshalJSON reads an array or "dynamic" and refuses everything else.
func (r *Resources) UnmarshalJSON(data []byte) error {
	*r = Resources{}
	var s string
	if json.Unmarshal(data, &s) == nil {
		if s != dynamic {
			return errors.New(`resources is neither an array nor "dynamic"`)
		}
		r.dynamic = true
		return nil
	}
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '[' {
		return errors.New(`resources is neither an array nor "dynamic"`)
	}
	return json.Unmarshal(data, &r.list)
}

// ListSkillsParams are the parameters of skills/list.
type ListSkillsParams struct {
	mcp.ParamsBase
	Cursor string `json:"cursor,omitempty"`
}

// GetSkillParams are the parameters of skills/get.
type GetSkillParams struct {
	mcp.ParamsBase
	URI string `json:"uri"`
}

// ReadDirectoryParams are the parameters of resources/directory/read.
type ReadDirectoryParams struct {
	mcp.ParamsBase
	URI    string `json:"uri"`
	Cursor string `json:"cursor,omitempty"`
}

// ListSkillsResult is a page of the result of skills/list. ResultType is empty for versions of
// the protocol before [Since].
type ListSkillsResult struct {
	mcp.ResultBase
	mcp.Cacheable
	ResultType string
	NextCursor string
	Skills     []*Skill
}

// GetSkillResult is the result of skills/get.
type GetSkillResult struct {
	mcp.ResultBase
	mcp.Cacheable
	ResultType string
	Skill      *Skill
}

// ReadDirectoryResult is the result of resources/directory/read.
type ReadDirectoryResult struct {
	mcp.ResultBase
	mcp.Cacheable
	ResultType string
	NextCursor string
	Resources  []*mcp.Resource
}
