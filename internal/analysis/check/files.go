package check

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// windowsNames checks the names of the skill's files and folders. If the list of files is
// incomplete, it reads the folders itself: the list lacks the names that no URI can contain. It
// also checks the skill's own name, since clients that install a skill name a folder after it.
func windowsNames(s *subject) (out []Finding) {
	at := s.skill.Path
	if at == "." {
		at = s.skill.Folder()
	}
	for part := range strings.SplitSeq(at, "/") {
		if fault := skill.WindowsFault(part); fault != "" && part != "." {
			out = append(out, Finding{Message: "on Windows no folder can be called " + display.Quote(part) + ", for " + fault, Fix: "rename the folder"})
			break
		}
	}
	if f, ok := s.doc.Field("name"); ok && skill.ValidName(s.skill.Name) && path.Base(at) != s.skill.Name {
		if fault := skill.WindowsFault(s.skill.Name); fault != "" {
			out = append(out, s.field(f, "on Windows no folder can be called "+display.Quote(s.skill.Name)+", for "+fault, "give the skill another name"))
		}
	}
	if s.skill.FS == nil {
		return out
	}
	bad := func(p string) {
		if fault := skill.WindowsFault(path.Base(p)); fault != "" {
			out = append(out, Finding{File: p, Message: "on Windows no file can be called " + display.Quote(path.Base(p)) + ", for " + fault, Fix: "rename it"})
		}
	}
	if s.names != nil && s.lacks == "" && !s.more {
		for p := range s.names {
			bad(p)
		}
		return out
	}
	n := 0
	_ = fs.WalkDir(s.skill.FS, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || p == "." {
			return nil
		}
		if n++; n > maxListed || strings.Count(p, "/") > skill.MaxDepth {
			return fs.SkipAll
		}
		if strings.HasPrefix(e.Name(), ".") {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		bad(p)
		return nil
	})
	return out
}

func caseCollisions(s *subject) (out []Finding) {
	first := make(map[skill.Key]string, len(s.names))
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		key := skill.KeyOf(name)
		if other, twice := first[key]; twice {
			f := Finding{File: name, Message: "differs from " + display.Quote(other) + " only by case; on macOS and Windows one replaces the other", Fix: "rename this one"}
			if !strings.EqualFold(name, other) {
				f.Message = "differs from " + display.Spelt(other) + " only by how a character is composed, which is invisible; on macOS one replaces the other"
				f.Fix = "rename this one, which is written " + display.Spelt(name)
			}
			out = append(out, f)
			continue
		}
		first[key] = name
	}
	return out
}

func fileSizes(s *subject) (out []Finding) {
	for _, f := range s.files {
		if f.Size > skill.MaxFile {
			out = append(out, Finding{File: f.Path, Message: fmt.Sprintf("the file has %d bytes; over 16 MiB no tool reads it", f.Size), Fix: "split or compress it"})
		}
	}
	return out
}

func manyFiles(s *subject) []Finding {
	n := fmt.Sprint(len(s.files))
	switch {
	case s.more: // the list ends early if a folder has very many names
		n = fmt.Sprint("more than ", max(len(s.files), skill.MaxFiles))
	case len(s.files) <= skill.MaxFiles:
		return nil
	}
	return []Finding{{Message: "the skill has " + n + " files; over 512 the Skills extension does not offer it", Fix: "leave out files that no reader needs, or split the skill"}}
}

func largeFiles(s *subject) []Finding {
	if s.cost.Bytes <= skill.MaxSkillSize {
		return nil
	}
	return []Finding{{Message: fmt.Sprintf("the skill's files have %d bytes together; over 16 MiB the Skills extension does not offer it", s.cost.Bytes), Fix: "leave out or compress large files"}}
}

// The limits are recommendations of the specification (agentskills.io/specification, Progressive
// disclosure).
const (
	listingTokens = 100
	bodyTokens    = 5000
	bodyLines     = 500
)

func listingSize(s *subject) []Finding {
	f, ok := s.doc.Field("description")
	if !ok || s.cost.ListingTokens <= listingTokens {
		return nil
	}
	return []Finding{s.field(f, fmt.Sprintf("name and description cost about %d tokens in every listing, over the recommended %d", s.cost.ListingTokens, listingTokens),
		"keep what the skill does and when to use it, move the rest into the body")}
}

func bodySize(s *subject) []Finding {
	if s.cost.BodyTokens <= bodyTokens {
		return nil
	}
	return []Finding{{File: s.skill.Entry, Message: fmt.Sprintf("the body costs about %d tokens each time it is loaded, over the recommended %d", s.cost.BodyTokens, bodyTokens),
		Fix: "move text that is not always needed into other files"}}
}

func lineCount(s *subject) []Finding {
	if s.cost.Lines <= bodyLines {
		return nil
	}
	return []Finding{{File: s.skill.Entry, Message: fmt.Sprintf("the file has %d lines, over the recommended %d", s.cost.Lines, bodyLines),
		Fix: "move text that is not always needed into other files"}}
}

func incomplete(s *subject) []Finding {
	if s.lacks == "" {
		return nil
	}
	message, fix := unlistable(s.lacks)
	f := Finding{Message: message, Fix: fix}
	if utf8.ValidString(s.lacks) {
		f.File = s.lacks
	}
	return []Finding{f}
}

// unlistable returns the reason why a file or folder of a skill cannot be listed, and the fix.
func unlistable(at string) (message, fix string) {
	const consequence = ", so the Skills extension's lists leave the skill out"
	switch {
	case !utf8.ValidString(at):
		return display.Quote(at) + " has a name that is not UTF-8, and that no URI can carry" + consequence, "rename it"
	case strings.Count(at, "/") >= skill.MaxDepth:
		return display.Quote(at) + fmt.Sprintf(" is more than %d levels deep", skill.MaxDepth) + consequence, "move it up"
	}
	return display.Quote(at) + " cannot be listed: it cannot be read, or has a name that no URI can carry" + consequence, "give yourself permission to read it, or rename it"
}
