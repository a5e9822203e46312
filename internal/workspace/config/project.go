package config

import (
	"path"
	"strings"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Project is the section project. It tells which skills a project offers, and with which tools. It
// is as trustworthy as the project, which may be a clone. So its folders must be below the file's
// folder, and it cannot remove the user's roots from lists.
type Project struct {
	Below   Word   // "true" for the skills of sub-packages; zero if the file lacks the key
	Dirs    []Word // slash-separated paths, relative to the file's folder
	Exclude []Word // labels of the project's roots
	Tools   Word   // as in --tools; zero if the file lacks the key
}

// Word is a value with its position, for problems that only the caller can find.
type Word struct {
	Text     string
	Position skill.Position
}

// maxDirs limits the number of folders in project.dirs, since each is scanned and watched.
const maxDirs = 16

// projectLabel matches the labels of the roots of a project and of its parents.
var projectLabel = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*-project(-[0-9]+)?$`)

var projectKeys = []key[Project]{
	{"below", "boolean", "false", "also the skills of sub-packages, as with `--below`", func(d *decoder, v frontmatter.Value, p *Project) {
		if d.isTrue("project.below", v) {
			p.Below = Word{"true", v.Position}
		}
	}},
	{"dirs", "list", "none", "more folders with skills, below the file's own", func(d *decoder, v frontmatter.Value, p *Project) {
		p.Dirs = decodeDirs(d, v)
	}},
	{"exclude", "list", "none", "labels of the project's roots whose skills are in no list; `--exclude` adds to them", func(d *decoder, v frontmatter.Value, p *Project) {
		const at = "project.exclude"
		for _, item := range d.items(at, v) {
			label := d.text(at, item, "write the label of a root, for example wave-project")
			if item.Kind == frontmatter.String && label != "" && !projectLabel().MatchString(label) {
				d.add(ruleValue, item.Position, at, "leave it to the user, with --exclude "+label, "%s is not a root of a project; a project does not hide the user's skills", describe(item))
			}
			p.Exclude = append(p.Exclude, Word{label, item.Position})
		}
	}},
	{"tools", "text", "default", "the set of tools, as with `--tools`", func(d *decoder, v frontmatter.Value, p *Project) {
		p.Tools = Word{d.text("project.tools", v, "write the name of a set, for example default"), v.Position}
	}},
}

func decodeDirs(d *decoder, v frontmatter.Value) (all []Word) {
	const at = "project.dirs"
	for _, item := range d.itemsUpTo(at, v, maxDirs, "folders", "name a folder above them instead") {
		dir := d.text(at, item, "write a folder below the file's own, for example skills")
		clean := path.Clean(dir)
		if item.Kind == frontmatter.String && dir != "" && (strings.ContainsAny(dir, "\\:") || strings.HasPrefix(dir, "~") || path.IsAbs(dir) || clean == ".." || strings.HasPrefix(clean, "../")) {
			d.add(ruleValue, item.Position, at, "write a folder below the file's own with slashes, for example skills; the user adds others with KNACK_DIRS", "%s is not a path below the project", describe(item))
		}
		all = append(all, Word{clean, item.Position})
	}
	return all
}
