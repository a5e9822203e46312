package dir

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// The ids of the rules in [Rules].
const (
	ruleUnreadable  = skill.RuleID("folder-unreadable")
	ruleDepthLimit  = skill.RuleID("depth-limit")
	ruleFolderLimit = skill.RuleID("folder-limit")
	ruleNoticesCut  = skill.RuleID("notices-cut")
	ruleNameNotUTF8 = skill.RuleID("folder-name-not-utf8")
	// RuleLinkOutside is the rule of a link that leads out of its root or its skill.
	RuleLinkOutside   = skill.RuleID("link-outside")
	ruleLinkDuplicate = skill.RuleID("link-duplicate")
	ruleLinkDangling  = skill.RuleID("link-dangling")
	ruleLinkLoop      = skill.RuleID("link-loop")
	ruleLinkIgnored   = skill.RuleID("link-ignored")
	ruleNearMiss      = skill.RuleID("near-miss")
	ruleLinkAsText    = skill.RuleID("link-as-text")
	ruleLinkToFile    = skill.RuleID("link-to-file")
	ruleSpecial       = skill.RuleID("file-special")
	ruleWorktree      = skill.RuleID("worktree-ignored")
)

// Rules lists the rules of the notices of a scan.
var Rules = []skill.Rule{
	{ID: ruleUnreadable, Severity: skill.SeverityWarning, Title: "every folder can be read"},
	{ID: ruleDepthLimit, Severity: skill.SeverityWarning, Title: "skills are at most 12 levels below their root"},
	{ID: ruleFolderLimit, Severity: skill.SeverityWarning, Title: "a root has at most a million folders"},
	{ID: ruleNoticesCut, Severity: skill.SeverityWarning, Title: "a scan reports at most 1,000 notices"},
	{ID: ruleNameNotUTF8, Severity: skill.SeverityWarning, Title: "the names of folders are UTF-8"},
	{ID: RuleLinkOutside, Severity: skill.SeverityWarning, Title: "links in a skill stay in it"},
	{ID: ruleLinkDuplicate, Severity: skill.SeverityInfo, Title: "a folder is reached by one path"}, // as after a skill was installed for two clients
	{ID: ruleLinkDangling, Severity: skill.SeverityWarning, Title: "links lead somewhere"},
	{ID: ruleLinkLoop, Severity: skill.SeverityWarning, Title: "links do not lead back to themselves"},
	{ID: ruleLinkIgnored, Severity: skill.SeverityWarning, Title: "links to folders are followed"},
	{ID: ruleNearMiss, Severity: skill.SeverityWarning, Title: "a file that is meant as SKILL.md has that name"},
	{ID: ruleLinkAsText, Severity: skill.SeverityWarning, Title: "no file is a link that was stored as text"},
	{ID: ruleLinkToFile, Severity: skill.SeverityWarning, Title: "links among the skills lead to folders"},
	{ID: ruleSpecial, Severity: skill.SeverityWarning, Title: "the files of a skill are regular files"},
	{ID: ruleWorktree, Severity: skill.SeverityInfo, Title: "linked worktrees of a repository are not searched with it"},
}

// AtLimit reports whether notices of this rule mean that a scan has reached a bound.
func AtLimit(rule skill.RuleID) bool {
	return rule == ruleDepthLimit || rule == ruleFolderLimit || rule == ruleNoticesCut
}

// Unsearched reports whether a notice of this rule means that the scan may have missed skills,
// because it skipped a folder, could not read one, or reached a bound.
func Unsearched(rule skill.RuleID) bool {
	return rule == ruleUnreadable || rule == ruleNameNotUTF8 || rule == ruleLinkIgnored || AtLimit(rule)
}

// notice records entries that the scan found and does not serve.
func (w *walk) notice(ns ...skill.Notice) {
	for _, n := range ns {
		if len(w.scan.Notices) < maxNotices {
			w.scan.Notices = append(w.scan.Notices, n)
		} else {
			w.dropped++
		}
	}
}

// reportNearMiss reports a file that was probably meant as the SKILL.md of the folder p, which has
// none. Such a file has a similar name, and it begins like a SKILL.md or its name passes
// [isShouted]. Meant is set if the file begins like a SKILL.md, and either has a name field or is
// in a skill's place. Within a skill, only a file with a name and a description is reported. Other
// files belong to the skill, and only its author decides about their names.
func (w *walk) reportNearMiss(out *found, p *node, h handle, children []child) {
	for _, c := range children {
		// A skills.md in the folder of a root is a list of the skills.
		if c.folder || !typo.IsMainFile(c.name) || p.path == "." && strings.HasPrefix(c.name, "skills") {
			continue
		}
		fence, named, whole := begins(h, c.name)
		meant := fence && (named || InPlace(path.Join(filepath.ToSlash(w.real), p.path)))
		if p.skill == nil && !fence && !isShouted(c.name) || p.skill != nil && !whole {
			continue
		}
		name := display.Spelt(c.name)
		n := skill.Notice{Path: p.path, Rule: ruleNearMiss, File: c.name, Meant: meant,
			Message: "the folder is not a skill: it has " + name + " and no SKILL.md", Fix: "rename " + name + " to SKILL.md"}
		if p.skill != nil {
			n.Meant, n.Fix = false, n.Fix+" if it is meant as a skill of its own"
		}
		if i := slices.IndexFunc(out.notices, func(n skill.Notice) bool { return n.Rule == ruleNearMiss }); i < 0 {
			out.notices = append(out.notices, n)
		} else if meant {
			out.notices[i] = n // report the first file that was meant as a SKILL.md, else the first file
		}
		if meant {
			return
		}
	}
}

// isShouted reports whether a name can only mean a SKILL.md, because it contains the word in
// capitals or with look-alike letters. A skills.md, in contrast, may be a text about skills.
func isShouted(name string) bool {
	return strings.Contains(name, "SKIL") || strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0
}

// InPlace reports whether a folder is where a skill is expected: directly in a folder called
// skills.
func InPlace(folder string) bool {
	return strings.EqualFold(path.Base(path.Dir(filepath.ToSlash(folder))), "skills")
}

// begins reads the beginning of a file. It reports whether the file begins like a SKILL.md, whether
// it then has a name, and whether it also has a description.
func begins(h handle, name string) (fence, named, whole bool) {
	if h == nil {
		return false, false, false
	}
	f, err := h.open(name)
	if err != nil {
		return false, false, false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, frontmatter.MaxSize))
	if err != nil || !opens(head) {
		return false, false, false
	}
	d := frontmatter.Parse(head)
	_, named = d.Field("name")
	_, described := d.Field("description")
	return true, named, named && described
}

// opens reports whether a text begins with a line ---.
func opens(head []byte) bool {
	line, _, _ := strings.Cut(strings.TrimPrefix(string(head[:min(len(head), 64)]), "\ufeff"), "\n")
	return strings.TrimRight(line, " \t\r") == "---"
}

// reportSpecial reports an entry that is neither a folder nor a regular file nor a link. A
// pipe, a socket or a device matters only in a skill, as one of its files.
func reportSpecial(out *found, p *node, c child) {
	if p.skill == nil || strings.HasPrefix(c.name, ".") {
		return
	}
	out.notices = append(out.notices, skill.Notice{Path: join(p.path, c.name), Rule: ruleSpecial,
		Message: "is a pipe, a socket or a device, and is never served", Fix: "remove it, or put a regular file in its place"})
	out.texts = true // these entries are rare, so the next scan may read everything again
}

func join(folder, name string) string {
	if folder == "." {
		return name
	}
	return folder + "/" + name
}

// unreadable reports a folder that could not be opened. A folder that has vanished
// since its parent was read gets no notice.
func unreadable(p *node, err error) found {
	out := found{err: bare(err)}
	if errors.Is(out.err, fs.ErrNotExist) || errors.Is(err, errThroughLink) || errors.Is(err, skill.ErrOutside) {
		return out
	}
	out.notices = []skill.Notice{{Path: p.path, Rule: ruleUnreadable,
		Message: "the folder cannot be read: " + out.err.Error(),
		Fix:     "give yourself permission to read it, or move it out of the root", Err: out.err}}
	return out
}
