// Package skill defines what a skill is.
//
// A skill is a folder with a SKILL.md: YAML frontmatter between two lines of three dashes,
// then Markdown. This package parses and judges that file, and defines the values that
// every surface uses: names, URIs, digests, manifests, problems. It opens files only
// through the [io/fs.FS] of a [Bundle], and bounds everything it reads.
//
// Lenient and strict are two readings of one parse. [frontmatter.Parse] records every fault as a
// [Problem]. The rule of each says whether the skill is skipped, whether it may be
// published, and how severe the finding is.
package skill
