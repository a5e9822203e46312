package listing

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
)

// PrintLocks prints for each lock how many skills match it, differ from it or are missing. locked
// has the state of each skill that a lock covers.
func PrintLocks(p *console.Printer, v catalog.View, locked map[*catalog.Entry]catalog.Locked) {
	locks := v.Locks()
	if len(locks) == 0 {
		return
	}
	p.Line("locks")
	for _, l := range locks {
		if l.Reason != "" {
			p.Line("  %s: %s", console.Bold.Of(l.Name), console.Red.Of(fmt.Sprintf("it cannot be used: %s (%s)", l.Reason, l.Fix)))
			continue
		}
		p.Line("  %s: %s", console.Bold.Of(l.Name), display.Count(l.Skills, "skill"))
	}
	for _, e := range v.Entries {
		if line := lockLine(locked[e]); line != "" {
			p.Line("  %s  %s", console.Bold.Of(path.Dir(e.Place())), line)
		}
	}
	for _, l := range locks {
		for _, m := range l.Missing {
			p.Line("  %s  missing: %s (%s)", console.Bold.Of(display.OneLine(m.Folder)), "run "+l.Restore, origin(m.Source, m.Version, ""))
		}
		if more := l.NMissing - len(l.Missing); more > 0 {
			p.Line("  and %d more are missing: run %s", more, l.Restore)
		}
	}
}

// lockLine describes in one line how a skill compares with its lock. It returns "" if there is no
// usable lock.
func lockLine(l catalog.Locked) string {
	line := cmp.Or(l.Reason, l.Words())
	switch {
	case l.State == "" || l.State == catalog.Incomparable && l.Source == "":
		return ""
	case l.Source != "":
		line += ", " + origin(l.Source, l.Version, l.Revision)
	}
	if l.Fix != "" {
		line += " (" + l.Fix + ")"
	}
	return line
}

// origin describes where a skill came from: "from github.com/acme/skills 1.2.0, git:9f2b1e4".
func origin(source, version, revision string) string {
	text := "from " + display.OneLine(source)
	if version != "" {
		text += " " + display.OneLine(version)
	}
	if kind, id, ok := strings.Cut(revision, ":"); ok {
		id = strings.TrimPrefix(id, "sha256:")
		text += ", " + display.OneLine(kind+":"+id[:min(len(id), 12)])
	}
	return text
}
