// Package skill defines skills.
//
// A skill is a folder with a SKILL.md: YAML frontmatter between two lines of three dashes,
// then Markdown. A source finds it as a [Bundle], and [Load] reads and judges it. The
// package also defines the values that every surface uses: names, URIs, digests, manifests,
// problems. It opens files only through the [io/fs.FS] of a Bundle, and bounds everything
// it reads.
//
// Package frontmatter parses the file and records every fault as a [Problem]. Lenient and
// strict are two readings of that one parse: the [Rule] of each problem says whether the
// skill is skipped, whether it may be published, and how severe the finding is.
package skill
