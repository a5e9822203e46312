// Package builtin is the source of the skills that are inside the binary.
//
// These skills explain knack itself, so a first run on a bare machine has something to serve. The
// skill engage is for the agent that uses the server, and write-a-skill is for authors.
package builtin

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"

	"github.com/knack-dev/knack/skill"
)

// Label is the label of the only root of this source.
const Label = "builtin"

// skills contains one folder for each skill except engage, directly below "skills". Embedding
// leaves out names that begin with a dot or an underscore.
//
//go:embed skills
var skills embed.FS

// EngageFolder is the folder of the skill engage, which describes the tools of a server and leads
// to the other skills.
const EngageFolder = "engage"

// Source yields the built-in skills. It is immutable and safe for concurrent
// use.
type Source struct{ engage string }

// New returns the source of the built-in skills for a server with the given tool sets,
// named as in `knack serve --tools`; without any, for the default set. The skill engage
// describes their tools.
func New(sets ...string) *Source { return &Source{engageText(sets)} }

// Engage returns the text of the skill engage. A server without the built-in skills needs it too,
// because it serves the skill's URI.
func (s *Source) Engage() string { return s.engage }

// Root returns the root of the skills. It has no folder on disk.
func (*Source) Root() skill.Root {
	return skill.Root{Label: Label, Scope: skill.ScopeBuiltin}
}

// Scan yields every built-in skill, in path order. Each has the path of its folder ("engage"), no
// Dir, and a stamp that changes only with the binary. The only error is the context's, because this
// package's tests check the embedded files.
func (s *Source) Scan(ctx context.Context) (skill.Scan, error) {
	if err := ctx.Err(); err != nil {
		return skill.Scan{}, fmt.Errorf("scan %s: %w", Label, err)
	}
	folders, err := fs.ReadDir(skills, "skills")
	if err != nil {
		return skill.Scan{}, fmt.Errorf("scan %s: %w", Label, err)
	}
	scan := skill.Scan{Version: 1} // there is only one version
	b, err := bundle(EngageFolder, engageFS(s.engage))
	if err != nil {
		return skill.Scan{}, fmt.Errorf("scan %s: %w", Label, err)
	}
	scan.Bundles = append(scan.Bundles, b)
	for _, folder := range folders {
		bundle, err := open(folder.Name())
		if err != nil {
			return skill.Scan{}, fmt.Errorf("scan %s: %w", Label, err)
		}
		scan.Bundles = append(scan.Bundles, bundle)
	}
	return scan, nil
}

// open makes the bundle of one embedded folder. No further containment is needed: a sub file system
// refuses names that leave it, and embedded files are regular.
func open(folder string) (*skill.Bundle, error) {
	fsys, err := fs.Sub(skills, path.Join("skills", folder))
	if err != nil {
		return nil, err
	}
	return bundle(folder, fsys)
}

func bundle(folder string, fsys fs.FS) (*skill.Bundle, error) {
	info, err := fs.Stat(fsys, skill.MainFile)
	if err != nil {
		return nil, err
	}
	return &skill.Bundle{
		Path:  folder,
		Entry: skill.MainFile,
		// Embedded files have no time. The stamp is the size and a constant, which never
		// changes and is never racy.
		Stamp: skill.StampOf(info),
		FS:    fsys,
	}, nil
}

// triggers contains prompts that measure the built-in skills, one file for each skill. The files
// are not in the skills' folders, so no agent receives them.
//
//go:embed triggers
var triggers embed.FS

// Triggers returns prompts for the skill of a folder, as a skill's own evals/triggers.json has
// them, or nil.
func Triggers(folder string) []byte {
	data, err := triggers.ReadFile(path.Join("triggers", folder+".json"))
	if err != nil {
		return nil
	}
	return data
}
