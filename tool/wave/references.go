package wave

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// warningLimit bounds the warnings about one file.
const warningLimit = 20

var (
	// linkTarget matches the targets of Markdown links, images and link definitions.
	linkTarget = lazyregexp.New(`\]\(\s*(<[^<>\n]*>|[^()\s]+)|^ {0,3}\[[^\]\n]+\]:\s*(<[^<>\n]*>|\S+)`)
	// absoluteURI matches a text that begins with a scheme. A single letter is a drive, not a
	// scheme.
	absoluteURI = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]+:`)
	codeSpan    = lazyregexp.New("`+[^`\n]*`+")
)

// warnings returns the references of a SKILL.md's body that leave the skill's folder. They
// are never followed; read_file_in_skill would refuse them.
func warnings(data []byte) []string {
	body := frontmatter.Parse(data).Body
	line := 1 + strings.Count(string(data[:body]), "\n")
	var out []string
	fence := ""
	for text := range strings.Lines(string(data[body:])) {
		trimmed := strings.TrimLeft(text, " ")
		switch mark := fenceOf(trimmed); {
		case fence == "" && mark != "":
			fence = mark
		case fence != "" && strings.HasPrefix(mark, fence) && strings.TrimSpace(strings.TrimLeft(trimmed, mark[:1])) == "":
			fence = ""
		case fence == "":
			for _, m := range linkTarget().FindAllStringSubmatch(codeSpan().ReplaceAllString(text, ""), -1) {
				if target := m[1] + m[2]; leaves(target) && len(out) < warningLimit {
					out = append(out, fmt.Sprintf("%d: '%s' leads outside the skill's folder and is not followed", line, display.Excerpt(strings.Trim(target, "<>"))))
				}
			}
		}
		line++
	}
	return out
}

// fenceOf returns the run of backticks or tildes that opens or closes a code block.
func fenceOf(line string) string {
	for _, c := range "`~" {
		if n := len(line) - len(strings.TrimLeft(line, string(c))); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// leaves reports whether a link's target is a path that leaves the folder.
func leaves(target string) bool {
	target = strings.Trim(target, "<>")
	if absoluteURI().MatchString(target) || strings.HasPrefix(target, "//") && !strings.HasPrefix(target, "///") {
		return strings.HasPrefix(strings.ToLower(target), "file:")
	}
	target, _, _ = strings.Cut(target, "#")
	target, _, _ = strings.Cut(target, "?")
	if decoded, err := url.PathUnescape(target); err == nil {
		target = decoded
	}
	_, err := skill.FilePath(target)
	return errors.Is(err, skill.ErrOutside) || strings.HasPrefix(target, "~/")
}
