// Package skill says what a skill is.
//
// A skill is a folder with a SKILL.md: YAML frontmatter between two lines of
// three dashes, then Markdown. This package parses and judges that file, and
// owns the values that every surface speaks of: names, URIs, digests,
// manifests, problems. It is pure: it opens files only through the [io/fs.FS]
// that a source hands over in a [Bundle], and it bounds everything it reads.
//
// Lenient and strict are two readings of one parse. [Parse] records everything
// it met as [Problem] values; the rule behind each says whether the skill is
// skipped, whether it may be published, and how grave the finding is.
package skill
