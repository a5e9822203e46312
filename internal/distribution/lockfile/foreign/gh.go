package foreign

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// ghPrefix is the prefix of the fields of metadata that gh skill writes into a SKILL.md.
const ghPrefix = "github-"

// Installed reads the fields that gh skill wrote into a SKILL.md. folder is the slash-separated
// folder of that file. ok is false if the file has no such fields.
func Installed(folder string, data []byte) (e Skill, ok bool) {
	doc := frontmatter.Parse(data)
	f, ok := doc.Field("metadata")
	if !ok || f.Value.Kind != frontmatter.Map {
		return Skill{}, false
	}
	r := &reader{}
	repo := r.text(f.Value, ghPrefix+"repo")
	if repo == "" {
		return Skill{}, false
	}
	e = Skill{Name: path.Base(folder), Line: f.KeyPosition.Line, Folders: []string{folder}}
	if name, ok := doc.Field("name"); ok && name.Value.Kind == frontmatter.String {
		e.Name = name.Value.Text
	}
	want := r.text(f.Value, ghPrefix+"ref")
	if tag, ok := strings.CutPrefix(want, "refs/tags/"); ok {
		want, e.Version = tag, tag
	}
	want = strings.TrimPrefix(want, "refs/heads/")
	if isHash(want) {
		e.Revision = "git:" + want
	}
	r.source(&e, asGit(repo), want)
	if p := strings.TrimSuffix(r.text(f.Value, ghPrefix+"path"), "/"); p != "" {
		if skill.IsEntryName(path.Base(p)) {
			p = path.Dir(p)
		}
		r.path(&e, f.Value, p)
	}
	if tree := r.text(f.Value, ghPrefix+"tree-sha"); isHash(tree) {
		e.Tree = tree
	}
	pinned := r.text(f.Value, ghPrefix+"pinned")
	e.Pinned = pinned != "" && pinned != "false"
	if r.err != nil {
		e.Err = r.err
	}
	return e, true
}

// SameButGitHub reports whether gh skill changed only its own fields in an author's SKILL.md. The
// text below the fields must be equal, except for white space around it. The other fields must have
// equal values, in any order.
func SameButGitHub(rewritten, author []byte) bool {
	a, textA, okA := frontmatter.Cut(rewritten)
	b, textB, okB := frontmatter.Cut(author)
	if !okA || !okB || !bytes.Equal(bytes.TrimSpace(textA), bytes.TrimSpace(textB)) {
		return false
	}
	x, problemsA := frontmatter.ParseYAML(string(a))
	y, problemsB := frontmatter.ParseYAML(string(b))
	return len(problemsA)+len(problemsB) == 0 && same(withoutGitHub(x), withoutGitHub(y))
}

// withoutGitHub returns the fields without the fields that gh adds. It also removes metadata if no
// other field is left in it.
func withoutGitHub(v frontmatter.Value) frontmatter.Value {
	var fields []frontmatter.Field
	for _, f := range v.Fields {
		if f.Key == "metadata" && f.Value.Kind == frontmatter.Map {
			f.Value.Fields = slices.DeleteFunc(slices.Clone(f.Value.Fields), func(m frontmatter.Field) bool { return strings.HasPrefix(m.Key, ghPrefix) })
			if len(f.Value.Fields) == 0 {
				continue
			}
		}
		fields = append(fields, f)
	}
	v.Fields = fields
	return v
}

// same reports whether two values are equal, ignoring the order of fields.
func same(a, b frontmatter.Value) bool {
	if a.Kind != b.Kind || a.Text != b.Text || len(a.Items) != len(b.Items) || len(a.Fields) != len(b.Fields) {
		return false
	}
	for i := range a.Items {
		if !same(a.Items[i], b.Items[i]) {
			return false
		}
	}
	for _, f := range a.Fields {
		if other, ok := field(b, f.Key); !ok || !same(f.Value, other) {
			return false
		}
	}
	return true
}
