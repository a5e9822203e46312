package scan

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/picture"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
	"github.com/knack-dev/knack/internal/base/display"
)

// image judges the texts in an image, which no viewer displays.
func (s *scanner) image(name string, data []byte) {
	rest, whole := picture.Texts(data, func(where, text string) { s.imageText(name, where, text) })
	switch rest = bytes.Trim(rest, "\x00\r\n "); {
	case !whole:
		s.Unjudged(name, "the image is damaged, so that not all texts in it are known")
	case len(rest) <= picture.MinText:
	case isText(rest):
		s.imageText(name, "the bytes behind its end", string(rest))
	default:
		s.Unjudged(name, display.Thousands(len(rest))+" bytes behind the end of the image are not judged")
	}
}

// imageText notes a text in an image.
func (s *scanner) imageText(name, where, text string) {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if words.Overrides(text) {
		s.Fact(passage.FactHidden, name)
		s.findFile(passage.HiddenOverride, name, "the image has a text in "+where+" that says "+secrets.Quote(text))
		return
	}
	if utf8.RuneCountInString(text) <= picture.MinText || picture.IsUsual(text) {
		return
	}
	s.findFile(passage.ImageText, name, "the image has a text in "+where+": "+secrets.Quote(text))
	s.secrets((&passage.File{Path: name, Text: text}).Whole())
}

// secrets notes private keys and tokens of known issuers.
func (s *scanner) secrets(p passage.Part) {
	for _, found := range secrets.In(p.Text) {
		hidden := p.Text[found.Body:found.To]
		s.Find(RuleSecret, p, found.From, found.To, fmt.Sprintf("%s: '%s…', %d characters", found.What, hidden[:secrets.Shown], len(hidden)))
	}
}
