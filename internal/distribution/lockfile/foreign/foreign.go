// Package foreign reads the records of other installers, so that knack can take over their skills.
// The records are lock files, and the fields that GitHub's command line writes into a SKILL.md. The
// package changes none of them.
package foreign

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Format is a format of a lock.
type Format string

// The formats.
const (
	Project  Format = "skills-lock.json"   // of npx skills, version 1
	Global   Format = ".skill-lock.json"   // of npx skills --global, version 3
	OCI      Format = "skills.lock.json"   // of skills-oci, version 1
	ToolHive Format = "toolhive.lock.yaml" // of thv skill, version 1
	GitHub   Format = "gh"                 // of gh skill: fields of each SKILL.md
)

// MaxSize is the maximum size of a lock that [Parse] reads, in bytes.
const MaxSize = 8 << 20

// Skill is a skill that another installer has installed.
type Skill struct {
	Name string
	Line int // its line in the lock, or in the SKILL.md
	// Folders are the possible folders of the skill, most likely first. They are slash-separated,
	// and relative to the project's folder, or to the home folder for a [Global] lock.
	Folders []string
	Ref     origin.Ref // the source, with the requested reference
	// Path is the skill's folder within the source, "." for the source itself. If the record has no
	// path, Path is "", and Name selects the skill.
	Path string
	// Revision is the installed revision, in the form of [origin.Revision], or "".
	Revision string
	Tree     string // the hash of the folder as a tree of git, or ""
	Version  string
	Pinned   bool // its user asked for exactly this version
	// Err is the reason why the skill cannot be taken over: knack cannot read its source.
	Err error
}

// Error is the first fault of a lock. Line and Column count from 1.
type Error struct {
	Line, Column int
	Message, Fix string
}

// Error returns the whole error in one line.
func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s: %s", e.Line, e.Column, e.Message, e.Fix)
}

func fault(at frontmatter.Position, fix, format string, args ...any) *Error {
	return &Error{max(at.Line, 1), max(at.Column, 1), fmt.Sprintf(format, args...), fix}
}

const restore = "restore the file from version control, or let its own tool write it again"

// Parse reads a lock. It detects the format by its fields, not by the file's name. Relative sources
// are relative to dir, the lock's folder. home is the user's home folder, or "". An error is an
// [*Error]. Unlike the tools themselves, Parse does not treat a damaged lock as empty.
func Parse(data []byte, dir, home string) (Format, []Skill, error) {
	if len(data) > MaxSize {
		return "", nil, &Error{1, 1, fmt.Sprintf("the file is too large; the limit is %d MiB", MaxSize>>20), restore}
	}
	// JSON is also YAML, and only the YAML parser reports positions.
	root, problems := frontmatter.ParseYAML(string(data))
	if len(problems) > 0 {
		n := 0
		for line := range strings.Lines(string(data)) {
			if n++; strings.HasPrefix(line, "<<<<<<< ") {
				return "", nil, &Error{n, 1, "the file has the conflict markers of a merge", "keep the entries of both sides, and delete the lines with <<<<<<<, ======= and >>>>>>>"}
			}
		}
		p := problems[0]
		return "", nil, fault(p.Position, restore, "the file is damaged: %s", p.Message)
	}
	if root.Kind != frontmatter.Map {
		return "", nil, fault(root.Position, restore, "the file is not a lock: it does not begin with fields")
	}
	r := &reader{dir: dir, home: home}
	format, entries, err := r.lock(root)
	if err != nil {
		return "", nil, err
	}
	return format, entries, nil
}

// reader reads one lock. The first fault ends it.
type reader struct {
	dir, home string
	err       *Error
}

// fail records the first fault.
func (r *reader) fail(at frontmatter.Position, fix, format string, args ...any) {
	if r.err == nil {
		r.err = fault(at, fix, format, args...)
	}
}

func (r *reader) lock(root frontmatter.Value) (Format, []Skill, *Error) {
	skills, ok := field(root, "skills")
	if !ok {
		return "", nil, fault(root.Position, "the formats are skills-lock.json, .skill-lock.json, skills.lock.json and toolhive.lock.yaml", "the file is not a lock that knack knows: it has no skills")
	}
	version, named := field(root, "version")
	ociVersion, oci := field(root, "lockfileVersion")
	switch {
	case oci:
		return r.list(OCI, skills, ociVersion, 1, r.oci)
	case named && skills.Kind == frontmatter.Map && version.Text == "3":
		return r.byName(Global, skills, version, 3)
	case named && skills.Kind == frontmatter.Map:
		return r.byName(Project, skills, version, 1)
	case named && (skills.Kind == frontmatter.List || skills.Kind == frontmatter.Null):
		return r.list(ToolHive, skills, version, 1, r.toolhive)
	}
	return "", nil, fault(root.Position, restore, "the file is not a lock that knack knows: it has no version")
}

func (r *reader) version(format Format, v frontmatter.Value, known int) bool {
	if v.Kind != frontmatter.Number || v.Text != fmt.Sprint(known) {
		r.fail(v.Position, "let a release of its tool that writes version "+fmt.Sprint(known)+" write it", "version %s of %s is not known; knack reads version %d", display.Quote(v.Text), format, known)
	}
	return r.err == nil
}

// byName reads skills that are fields of a mapping.
func (r *reader) byName(format Format, skills, version frontmatter.Value, known int) (Format, []Skill, *Error) {
	if !r.version(format, version, known) {
		return "", nil, r.err
	}
	var all []Skill
	for _, f := range skills.Fields {
		e := Skill{Name: f.Key, Line: f.KeyPosition.Line}
		r.npx(&e, f.Value, format == Global)
		if r.err != nil {
			return "", nil, r.err
		}
		all = append(all, e)
	}
	return format, all, nil
}

// list reads skills that are items of a list.
func (r *reader) list(format Format, skills, version frontmatter.Value, known int, read func(*Skill, frontmatter.Value)) (Format, []Skill, *Error) {
	if !r.version(format, version, known) {
		return "", nil, r.err
	}
	if skills.Kind != frontmatter.List && skills.Kind != frontmatter.Null {
		return "", nil, fault(skills.Position, restore, "skills is not a list")
	}
	var all []Skill
	for _, v := range skills.Items {
		e := Skill{Line: v.Position.Line, Name: r.text(v, "name")}
		if e.Name == "" {
			r.fail(v.Position, restore, "a skill has no name")
		}
		read(&e, v)
		if r.err != nil {
			return "", nil, r.err
		}
		all = append(all, e)
	}
	return format, all, nil
}

func field(v frontmatter.Value, name string) (frontmatter.Value, bool) {
	for _, f := range v.Fields {
		if f.Key == name {
			return f.Value, true
		}
	}
	return frontmatter.Value{}, false
}

// text returns a text field, or "" if it is missing.
func (r *reader) text(v frontmatter.Value, name string) string {
	if v.Kind != frontmatter.Map {
		r.fail(v.Position, restore, "a skill of the lock has no fields")
	}
	f, ok := field(v, name)
	switch {
	case !ok || f.Kind == frontmatter.Null:
		return ""
	case f.Kind == frontmatter.List || f.Kind == frontmatter.Map || len(f.Text) > 4<<10:
		r.fail(f.Position, restore, "%s is not a short text", name)
		return ""
	}
	return f.Text
}

// source sets the source and the requested reference of an entry. text is the source as a person
// would write it.
func (r *reader) source(e *Skill, text, want string) {
	ref, err := origin.Parse(text, r.dir, r.home)
	if err == nil && want != "" {
		ref, err = origin.Locked(ref.Source, want, r.dir, r.home)
	}
	e.Ref, e.Err = ref, err
}

// npx reads an entry of npx skills 1.7.4.
func (r *reader) npx(e *Skill, v frontmatter.Value, global bool) {
	source, address, kind := r.text(v, "source"), r.text(v, "sourceUrl"), r.text(v, "sourceType")
	want, main := r.text(v, "ref"), r.text(v, "skillPath")
	name := sanitized(e.Name)
	e.Folders = []string{".agents/skills/" + name, ".claude/skills/" + name}
	switch kind {
	case "github":
		r.source(e, source, want)
	case "git", "gitlab":
		if address == "" {
			address = source
		}
		r.source(e, asGit(address), want)
	case "local":
		if global && address != "" {
			source = address
		}
		r.source(e, folder(source), "")
		main = ""
	case "well-known":
		if base := r.text(v, "sourceBaseUrl"); base != "" {
			address = base
		}
		r.source(e, address, "")
		main = ""
	case "":
		r.fail(v.Position, restore, "the skill %s has no sourceType", display.Quote(e.Name))
	default:
		e.Err = fmt.Errorf("it came from %s, which is not a source of knack", word(kind))
	}
	if main != "" {
		r.path(e, v, path.Dir(main))
	}
	// A hash of 64 digits is the tool's own digest, which knack cannot use. It depends on the
	// locale, and does not separate a path from the content after it.
	if hash := r.text(v, "skillFolderHash"); len(hash) == 40 && isHash(hash) {
		e.Tree = hash
	}
}

// folder spells a path so that [origin.Parse] reads it as a folder. It puts "./" before a path such
// as "lib", ".agents/skills/x" or "a:b".
func folder(p string) string {
	switch first, _, _ := strings.Cut(filepath.ToSlash(p), "/"); {
	case first == "", first == ".", first == "..", first == "~", filepath.IsAbs(p), strings.HasPrefix(p, "file:"):
		return p
	}
	return "./" + p
}

// asGit spells an address so that [origin.Parse] reads it as a repository.
func asGit(address string) string {
	for _, scheme := range []string{"https:", "http:", "file:"} {
		if strings.HasPrefix(address, scheme) {
			return "git+" + address
		}
	}
	return address
}

// path sets the folder of an entry within its source.
func (r *reader) path(e *Skill, v frontmatter.Value, p string) {
	if p == "." {
		e.Path = p
	} else if err := origin.CheckPath(p); err == nil {
		e.Path = p
	} else {
		r.fail(v.Position, restore, "the skill %s has a folder that is not plain: %v", display.Quote(e.Name), err)
	}
}

// oci reads an entry of skills-oci.
func (r *reader) oci(e *Skill, v frontmatter.Value) {
	source, ok := field(v, "source")
	if !ok {
		r.fail(v.Position, restore, "the skill %s has no source", display.Quote(e.Name))
		return
	}
	tag, digest := r.text(source, "tag"), r.text(source, "digest")
	r.source(e, "oci://"+r.text(source, "registry")+"/"+r.text(source, "repository"), tag)
	if e.Version = tag; digest != "" {
		e.Revision = "oci:" + digest
	}
	at := r.text(v, "path")
	if origin.CheckPath(at) == nil && path.Base(at) == e.Name && !slices.Contains(strings.Split(at, "/"), ".git") {
		e.Folders = []string{at}
	}
	if name := sanitized(e.Name); len(e.Folders) == 0 || e.Folders[0] != ".agents/skills/"+name {
		e.Folders = append(e.Folders, ".agents/skills/"+name)
	}
}

// toolhive reads an entry of thv skill.
func (r *reader) toolhive(e *Skill, v frontmatter.Value) {
	asked, resolved, digest := r.text(v, "source"), r.text(v, "resolvedReference"), r.text(v, "digest")
	name := sanitized(e.Name)
	e.Folders = []string{".claude/skills/" + name, ".agents/skills/" + name}
	e.Version = r.text(v, "version")
	// A source may be a name in ToolHive's own registry; then only the resolved reference is an
	// address.
	for _, text := range []string{asked, resolved} {
		if rest, ok := strings.CutPrefix(text, "git://"); ok {
			rest, sub, _ := strings.Cut(rest, "#")
			rest, want, _ := strings.Cut(rest, "@")
			if r.source(e, "git+https://"+rest, want); sub != "" {
				r.path(e, v, sub)
			}
			if isHash(digest) {
				e.Revision = "git:" + digest
			}
			return
		}
		host, _, image := strings.Cut(text, "/")
		if image && strings.ContainsAny(host, ".:") {
			text, _, _ = strings.Cut(text, "@") // the digest pins the tag
			if r.source(e, "oci://"+text, ""); digest != "" {
				e.Revision = "oci:" + digest
			}
			return
		}
	}
	e.Err = fmt.Errorf("its source %s is a name in a registry of ToolHive", word(asked))
}

// word quotes a single word of a lock. It hides any other text, which may contain a secret.
func word(s string) string {
	if s == "" || len(s) > 100 || strings.ContainsAny(s, ":@?#") {
		return "(not shown)"
	}
	return display.Quote(s)
}

// isHash reports whether a text is a full hash of git: a SHA-1, or a SHA-256 without a prefix.
func isHash(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// sanitized returns the name that npx skills gives the folder of a skill.
func sanitized(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '.', c == '_':
			b.WriteRune(c)
		case b.Len() == 0 || !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	s := strings.Trim(b.String(), ".-")
	if s == "" {
		return "unnamed-skill"
	}
	return s[:min(len(s), 255)]
}

// LeftOut reports whether npx skills does not copy this file of a skill.
func LeftOut(file string) bool {
	for part := range strings.SplitSeq(path.Dir(file), "/") {
		if part == "__pycache__" || part == "__pypackages__" {
			return true
		}
	}
	return path.Base(file) == "metadata.json"
}
