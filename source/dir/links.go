package dir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
)

// lazyFolder is a skill's folder that is opened for the first link to judge. The zero value is
// ready to use.
type lazyFolder struct{ h *cachingHandle }

// enter opens the folder unless it is already open. It returns nil if the folder cannot be opened.
func (o *lazyFolder) enter(f *folder) handle {
	if o.h == nil {
		h, err := f.enter()
		if err != nil {
			return nil
		}
		o.h = &cachingHandle{handle: h}
	}
	return o.h
}

func (o *lazyFolder) close() {
	if o.h != nil {
		o.h.close()
	}
}

// link follows or reports a link that the walk found in p. If p is in a skill, in is the skill's
// folder.
func (w *walk) link(out *found, p *node, name string, in *lazyFolder) {
	at := path.Join(p.path, name)
	say := func(rule skill.RuleID, message, fix string) {
		out.notices = append(out.notices, skill.Notice{Path: at, Rule: rule, Message: message, Fix: fix})
	}
	if p.skill != nil {
		err := w.inSkill(p, name, in)
		if err == nil {
			return
		}
		if rule, message, fix := unfollowed(err); rule != "" {
			say(rule, message, fix)
			if rule == RuleLinkOutside {
				out.notices[len(out.notices)-1].Target = target(p.real(), name)
			}
		}
		return
	}
	met, err := followed(filepath.Join(p.real(), name))
	if len(out.links) <= maxSpecial {
		out.links = append(out.links, met)
	}
	switch {
	case errors.Is(err, skill.ErrNotFolder):
		// A link to a SKILL.md was probably meant to lead to the folder of that file. Any other
		// link leads to a file beside the skills, and needs no notice.
		if to, err := os.Readlink(met.at); err == nil && skill.IsEntryNameInAnyCase(filepath.Base(to)) && !strings.Contains(name, ".") {
			say(ruleLinkToFile, "is a link to the file "+display.Spelt(to)+", and a skill is a folder", "let the link lead to the file's folder")
		}
		return
	case errors.Is(err, errLinkLoop):
		say(ruleLinkLoop, "the link leads back to itself, or through more than 40 others", "remove the link, or make it lead to the folder itself")
		return
	case errors.Is(err, fs.ErrNotExist):
		say(ruleLinkDangling, "the link leads nowhere", "remove the link, or restore its target")
		return
	case err != nil:
		say(ruleUnreadable, "the link cannot be followed: "+bare(err).Error(), "")
		out.notices[len(out.notices)-1].Err = bare(err)
		return
	}
	switch bound := w.bound(p); {
	case w.source.opt.NoLinks:
		say(ruleLinkIgnored, "links to folders are not followed here", "")
	case realpath.Within(met.target, p.real()): // a clone may contain such a link to /, and so to the whole machine
		say(ruleLinkLoop, "the link leads to a folder that contains it, and is not followed", "make it lead to the folder of a skill")
	case bound != "" && !realpath.Within(bound, met.target):
		say(RuleLinkOutside, "the link leads out of its root and is not followed",
			"place the link in the root itself, or give its target as a root")
	default:
		out.folders = append(out.folders, node{path: at, sub: ".", origin: &origin{base: met.target, bound: met.target, linked: true}})
	}
}

// unfollowed returns the reason that a link in a skill is not followed, from the error of [locate].
// The rule is "" for an error of the disk.
func unfollowed(err error) (rule skill.RuleID, message, fix string) {
	switch {
	case errors.Is(err, skill.ErrOutside):
		return RuleLinkOutside, "the link leads out of the skill's folder and is not followed", "put a copy of the file into the skill"
	case errors.Is(err, errLinkLoop):
		return ruleLinkLoop, "the link leads back to itself, or through more than 40 others", "remove the link, or make it lead to a file of the skill"
	case errors.Is(err, skill.ErrNotRegular):
		return ruleLinkIgnored, "is a kind of link that is not followed", "put a copy of its target into the skill"
	case errors.Is(err, errDotEntry):
		return ruleLinkDangling, "the link leads to a name that begins with a dot, which is never served", "give its target another name"
	case errors.Is(err, fs.ErrNotExist):
		return ruleLinkDangling, "the link leads nowhere", "remove the link, or restore its target"
	}
	return "", "", ""
}

// target returns the path to which a link in a folder leads, or "". It does not resolve further
// links.
func target(folder, name string) string {
	to, err := os.Readlink(filepath.Join(folder, name))
	if err == nil && !filepath.IsAbs(to) {
		to = filepath.Join(folder, to)
	}
	return to
}

// bound returns the folder that links in p must not leave, or "" if there is no bound. A direct
// child of the root has no bound, because the root's owner placed it there. In a plugin, it has
// one.
func (w *walk) bound(p *node) string {
	if p.path == "." && w.source.opt.Places == nil {
		return ""
	}
	return p.bound
}

// inSkill returns the reason that the skill around p does not follow a link in p, or nil if it
// does.
func (w *walk) inSkill(p *node, name string, in *lazyFolder) error {
	rel := path.Join(p.path, name)
	if p.skill.path != "." {
		rel = strings.TrimPrefix(rel, p.skill.path+"/")
	}
	folder := w.folder(p.skill, 0)
	f := &folder
	if checkName(rel) != nil {
		return nil // a file with this name is not served
	}
	err := errThroughLink
	if h := in.enter(f); h != nil {
		_, _, err = locate(h, rel, f)
	}
	if errors.Is(err, errThroughLink) { // the folder is changing: look again
		_, err = f.Stat(rel)
	}
	return err
}

// resolve returns the real folder that a link leads to.
func resolve(link string) (string, error) {
	fi, err := os.Stat(link)
	if err != nil {
		if errors.Is(err, syscall.ELOOP) {
			return "", errLinkLoop
		}
		return "", err
	}
	if !fi.IsDir() {
		return "", skill.ErrNotFolder
	}
	return realpath.Eval(link)
}

// Bounds of the search for links that are stored as text.
const (
	mostTexts = 100
	textSize  = 256
)

// mayBeLink reports whether c is a regular file without an extension. Git writes a link
// to a folder like this if the system or the user has no links (core.symlinks=false).
func (c child) mayBeLink() bool { return c.regular && !strings.Contains(c.name, ".") }

// linksAsText reports the root's files that were probably links to a skill's folder: they contain
// only such a link's path.
func (w *walk) linksAsText(h handle, children []child) (out []skill.Notice) {
	tried := 0
	for _, c := range children {
		if !c.mayBeLink() || tried == mostTexts {
			continue
		}
		tried++
		f, err := h.open(c.name)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(f, textSize+1))
		f.Close()
		if target := strings.TrimRight(string(text), "\r\n"); err == nil && isPath(target) {
			out = append(out, skill.Notice{Path: c.name, Rule: ruleLinkAsText,
				Message: "is a file that contains the path " + display.Spelt(target) + ": a link that was stored as text, which no program follows",
				Fix:     "make it a link, as git does with core.symlinks=true, or put the folder itself in its place"})
		}
	}
	return out
}

// isPath reports whether text is one line that names a folder by a relative or an
// absolute path, in the syntax of any system.
func isPath(text string) bool {
	if len(text) > textSize || !utf8.ValidString(text) || display.OneLine(text) != text {
		return false
	}
	slashed := strings.ReplaceAll(text, `\`, "/")
	return strings.HasPrefix(slashed, "../") || strings.HasPrefix(slashed, "./") || strings.HasPrefix(slashed, "/") && strings.Count(slashed, "/") > 1
}
