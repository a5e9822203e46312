// Package skill defines skills.
//
// A skill is a folder with a SKILL.md: YAML frontmatter between two lines of three dashes, then
// Markdown. A source finds it as a [Bundle], and [Load] reads and judges it. The package also
// defines the values that every surface uses: names, URIs, digests, manifests, problems. It opens
// files only through the [io/fs.FS] of a Bundle, and bounds everything that it reads.
//
// Package frontmatter parses the file and records every fault as a [Problem]. A lenient and a
// strict reader use the same parse. The [Rule] of each problem tells whether the skill is skipped,
// whether it may be published, and how severe the finding is.
package skill
