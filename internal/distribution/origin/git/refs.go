package git

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// scheme is the prefix of a revision's ID.
const scheme = "git:"

func revision(commit, version string) origin.Revision {
	return origin.Revision{ID: scheme + commit, Version: version}
}

// refs has the branches and tags of a repository by name, with their commits. For an annotated tag,
// refs has the commit that it tags.
type refs struct {
	head           string
	branches, tags map[string]string
	skipped        int // invalid names
}

func newRefs() *refs { return &refs{branches: map[string]string{}, tags: map[string]string{}} }

// Bounds of a server's list of refs. The largest repository in a public list of mirrors has
// 90,000 branches and tags.
const (
	maxRefs = 500_000
	maxLine = 8 << 10
)

var errRefs = errors.New("the server's list of branches and tags is not in the form of git")

// read parses the lines of git ls-remote: a commit, a tab and a name.
func (r *refs) read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, maxLine), maxLine)
	for lines.Scan() {
		commit, name, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			return errRefs
		}
		if err := r.add(commit, name); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return errRefs
	}
	return lines.Err()
}

// add adds one ref. An annotated tag is followed by its name with ^{} and its commit.
func (r *refs) add(commit, name string) error {
	if !isCommit(commit) {
		return errRefs
	}
	if len(r.branches)+len(r.tags)+r.skipped >= maxRefs {
		return fmt.Errorf("it has more than %s branches and tags, which knack does not read: name a whole commit", display.Thousands(maxRefs))
	}
	if name == "HEAD" {
		r.head = commit
	} else if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok {
		r.put(r.branches, branch, commit)
	} else if tag, ok := strings.CutPrefix(name, "refs/tags/"); ok {
		r.put(r.tags, strings.TrimSuffix(tag, "^{}"), commit)
	}
	return nil
}

// put adds a branch or tag. It skips a name that git itself refuses, since a tag's name becomes a
// version.
func (r *refs) put(to map[string]string, name, commit string) {
	if origin.CheckWant(name) != nil {
		r.skipped++
		return
	}
	to[name] = commit
}

// names returns the names of the tags, sorted.
func (r *refs) names() []string { return slices.Sorted(maps.Keys(r.tags)) }

var (
	anyVersion = lazyregexp.New(`^[vV]?([0-9]+(?:\.[0-9]+)+(?:[-+][0-9A-Za-z.+-]+)?)$`)
	shortHex   = lazyregexp.New(`^[0-9a-fA-F]{4,63}$`)
	longHex    = lazyregexp.New(`^(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$`)
)

// isCommit reports whether a text is a full commit hash: SHA-1 or SHA-256.
func isCommit(text string) bool { return longHex().MatchString(text) }

// pick returns the commit that a reference names. A tag takes precedence over a branch, as in git.
// sub is the folder after the reference. In the address of a page, the end of a branch name with a
// slash looks like a folder. So the error proposes such a branch.
func (r *refs) pick(source, want, sub string) (origin.Revision, error) {
	if want == "" || want == "HEAD" {
		switch {
		case r.head != "":
			return revision(r.head, ""), nil
		case len(r.branches)+len(r.tags) == 0:
			return origin.Revision{}, fmt.Errorf("%s: the repository is empty", source)
		}
		return origin.Revision{}, fmt.Errorf("%s: the repository has no default branch: name one of %s", source, r.some())
	}
	tag := strings.TrimPrefix(want, "refs/tags/")
	branch := strings.TrimPrefix(want, "refs/heads/")
	if commit, ok := r.tags[tag]; ok {
		version := ""
		if m := anyVersion().FindStringSubmatch(tag); m != nil {
			version = m[1]
		}
		return revision(commit, version), nil
	}
	if commit, ok := r.branches[branch]; ok {
		return revision(commit, ""), nil
	}
	if shortHex().MatchString(want) {
		return origin.Revision{}, fmt.Errorf("%s has no branch or tag %s; if it is a commit, write all of its digits: a short one may name another commit tomorrow", source, display.Quote(want))
	}
	err := origin.Mark(origin.ErrGone, fmt.Errorf("%s has no branch or tag %s", source, display.Quote(want)))
	for longer, rest := want, sub; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		longer += "/" + part
		if r.branches[longer] != "" || r.tags[longer] != "" {
			at := source
			if rest != "" {
				at += "//" + rest
			}
			return origin.Revision{}, fmt.Errorf("%w; its name has a slash, so write %s@%s", err, at, longer)
		}
	}
	if near := typo.Nearest(want, slices.Concat(r.names(), slices.Collect(maps.Keys(r.branches)))); near != "" {
		return origin.Revision{}, fmt.Errorf("%w; it has %s", err, display.Quote(near))
	}
	return origin.Revision{}, fmt.Errorf("%w; it has %s", err, r.some())
}

// some returns the names of a few branches and tags.
func (r *refs) some() string {
	const most = 5
	var names []string
	for _, commits := range []map[string]string{r.branches, r.tags} {
		for _, name := range slices.Sorted(maps.Keys(commits)) {
			names = append(names, display.Quote(name))
		}
	}
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}
