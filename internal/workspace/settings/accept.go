package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/policy/admission"
	"github.com/knack-dev/knack/internal/workspace/config"
)

// Accept adds entries to scan.accept in the file of --config, or in the user's own file, which it
// creates if necessary. Comments stay. An entry for findings that another entry already accepts is
// not added again. Accept returns the path of the file as displayed, and the lines of the new
// entries.
func (s *Finder) Accept(all []admission.Accept) (file string, lines []int, err error) {
	f, err := s.Trusted()
	if err != nil {
		return "", nil, err
	}
	path := s.UserFile()
	var old []byte
	var known []admission.Accept
	if f != nil {
		path, old, known = f.Path, f.Data, f.Config.Scan.Accept
	}
	if path == "" {
		return "", nil, RunError("set HOME, or name a configuration with --config", "the home folder is not known, so there is no place for your own file")
	}
	file = s.env.Shown(path)
	data, added := old, 0
	for _, a := range slices.Backward(all) { // each new entry becomes the first one
		if slices.ContainsFunc(known, func(k admission.Accept) bool {
			return k.Rule == a.Rule && k.Set == a.Set && k.Skill.String() == a.Skill.String() && k.Until.Equal(a.Until)
		}) {
			continue
		}
		item := []clientconfig.Field{{Key: "rule", Text: string(a.Rule)}, {Key: "skill", Text: a.Skill.String()}, {Key: "set", Text: a.Set.String()}, {Key: "reason", Text: a.Reason}}
		if !a.Until.IsZero() {
			item = append(item, clientconfig.Field{Key: "until", Text: a.Until.Format(time.DateOnly)})
		}
		if data, err = clientconfig.AddItem(data, []string{"scan", "accept"}, item); err != nil {
			return "", nil, RunError("add the entry by hand: "+filepath.ToSlash(file)+", scan.accept", "%s is not changed: %w", file, err)
		}
		added++
	}
	now, problems := config.Parse(data)
	if len(problems) > 0 {
		p := problems[0]
		return "", nil, RunError(p.Fix, "%s is not changed, since it would have a mistake: %s", file, p.Message)
	}
	switch {
	case added == 0:
	case f == nil:
		err = edit.Create(edit.Named(path), data, 0o644)
	default:
		err = edit.Replace(edit.Named(path), old, data)
	}
	if err != nil {
		return "", nil, RunError("check the file and its folder, and run the command again", "%s cannot be written: %w", file, fmt.Errorf("%s", ReasonOf(err)))
	}
	for _, a := range now.Scan.Accept[:added] {
		lines = append(lines, a.Line)
	}
	return file, lines, nil
}
