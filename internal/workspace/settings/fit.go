package settings

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/skill"
)

// Check refuses access rules that do not fit the roots of a catalogue, with the line of the rule.
// Rules written for other roots would hide less than intended. It waits for the first list of
// skills. more are further labels that the rules may name.
func Check(ctx context.Context, c *catalog.Catalog, file string, given config.Access, more ...string) error {
	if given.Policy == nil {
		return nil
	}
	v, err := c.View(ctx)
	if err != nil {
		return err
	}
	if all := given.Policy.Misspelt(v.Snapshot); len(all) > 0 {
		return Misspelt(all, file, given)
	}
	var labels, numbered []string
	movable, named := false, false
	for _, r := range v.Roots {
		if r.Prefix != "" {
			labels = append(labels, r.Prefix)
		}
		movable, named = movable || access.IsMovable(&r.Root), named || r.Publisher != nil
		if r.Publisher == nil && access.IsNumbered(r.Label) {
			numbered = append(numbered, r.Dir)
		}
	}
	if !movable {
		return nil
	}
	for i, folder := range numbered {
		if j, _ := overlaps(folder, numbered[:i]); j >= 0 {
			return UsageError("name folders of which none contains another", "--dir %s and --dir %s are one folder, or one contains the other: a rule for the skills of one would not hide them in the other", display.Echo(numbered[j]), display.Echo(folder))
		}
	}
	known := slices.Concat(labels, more)
	for _, e := range v.Entries {
		if first, _, _ := strings.Cut(e.Base(), "/"); e.Root.Prefix == "" && first != "" {
			known = append(known, first)
		}
	}
	for _, a := range given.Policy.Astray(known) {
		if a.Label == "" || a.Denies && named { // otherwise the policy also denies the skills that the pattern would match without the label
			message, fix := astrayWords(a, slices.Concat(labels, more))
			return UsageError(fix, "%s:%s: %s", file, given.Positions[a.Pattern.String()], message)
		}
	}
	for _, pattern := range given.Policy.Twofold(v.Snapshot) {
		return UsageError("write an allow for the folder, with the label before it, or give one of the two another name", "%s:%s: the pattern %s means a root, and a folder in that root has the same name", file, given.Positions[pattern.String()], pattern)
	}
	return nil
}

// Misspelt returns an error with the correct spelling of the first misspelt pattern.
func Misspelt(all []access.Misspelt, file string, given config.Access) error {
	one, others := all[0], map[string]bool{}
	for _, m := range all {
		others[m.Pattern.String()] = true
	}
	at := given.Positions[one.Pattern.String()]
	if one.Matched {
		label, _, _ := strings.Cut(strings.TrimPrefix(one.As, skill.Scheme), "/")
		return UsageError("write an allow for "+one.As+" too if it is not meant, or give one of the two another name", "%s:%s: the pattern %s means a root, and a folder in the root %s has the same name", file, at, one.Pattern, label)
	}
	why := "each URI begins with the label of its root, except with a single --dir; case and accents count ('knack list --json' has the URIs)"
	if n := len(others) - 1; n > 0 {
		why += fmt.Sprintf("; the same applies to %s more", display.Count(n, "pattern"))
	}
	return UsageError("write "+one.As+": "+why, "%s:%s: no skill of these roots matches the pattern %s, and as %s it would match", file, at, one.Pattern, one.As)
}
