package markdown

import (
	"cmp"
	"iter"
	"path"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// block contains the first suspicious links of a block of text. They are needed to judge the next
// block.
type block struct {
	download string // the URL of an archive or a program
	paste    string
}

// block judges the rendered text and the links of a block.
func (m *page) block(p passage.Part, links []link) {
	if strings.TrimSpace(p.Text) == "" && len(links) == 0 {
		return
	}
	m.phrases(p)
	secret := m.secretPaths(p.Text)
	now := block{}
	from := 0 // the end of the first download link
	for l := range all(links, p.Text) {
		host, kind := words.Of(l.url)
		m.address(p, l, host, kind)
		if kind == words.Nobody {
			continue
		}
		if secret && strings.Contains(host, ".") && strings.Contains(l.url, "://") {
			m.Fact(passage.FactHost, host)
		}
		if what := download(linkedType(l.url)); what != "" {
			if !m.Full(passage.DownloadProgram, p.File) {
				m.findLink(passage.DownloadProgram, p, l, secrets.Quote(rawAddress(p, l))+" is "+what)
			}
			if now.download == "" {
				now.download, from = l.url, l.to
			}
		}
		if now.paste == "" && words.IsPaste(host, l.url) {
			now.paste = l.url
		}
	}
	if url := now.download; url != "" {
		if at, to, ok := words.Password(p.Text, from); ok {
			m.Find(passage.DownloadLocked, p, at, to, "the password of "+secrets.Quote(url)+": "+secrets.Quote(p.Around(at, to)))
		}
	} else if url := m.before.download; url != "" {
		if at, to, ok := words.Password(p.Text, -1); ok {
			m.Find(passage.DownloadLocked, p, at, to, "the password of "+secrets.Quote(url)+", which the block before links to: "+secrets.Quote(p.Around(at, to)))
		}
	}
	if url := cmp.Or(now.paste, m.before.paste); url != "" {
		if at, to, ok := words.Running(p.Text); ok {
			m.Find(passage.RunFromPaste, p, at, to, "the reader is told to "+secrets.Quote(p.Text[at:to])+", beside "+secrets.Quote(url))
		}
	}
	m.before = now
}

// secretPaths records the files with credentials that a text names. found is true if there are any.
func (m *page) secretPaths(text string) (found bool) {
	for word := range strings.FieldsSeq(text) {
		if at := strings.IndexAny(word, "~/$%"); at >= 0 {
			word = strings.TrimRight(word[at:], ".,:;!?*_`\"'()[]")
			if words.Credential(word) && words.Outside(words.Homely(word)) {
				m.Fact(passage.FactRead, words.Homely(word))
				found = true
			}
		}
	}
	return found
}

// phrases searches a text for phrases that override instructions or conceal acts.
func (m *page) phrases(p passage.Part) {
	if from, to, ok := words.Overriding(p.Text); ok {
		m.Find(passage.OverridePhrase, p, from, to, "the text says "+secrets.Quote(p.Around(from, to)))
	}
	if from, to, ok := words.Concealing(p.Text); ok {
		m.Find(passage.ConcealPhrase, p, from, to, "the text says "+secrets.Quote(p.Around(from, to)))
	}
}

// addresses judges the destinations of the bare addresses in a text.
func (m *page) addresses(p passage.Part) {
	for l := range all(nil, p.Text) {
		host, kind := words.Of(l.url)
		m.address(p, l, host, kind)
	}
}

// address judges the destination of a link.
func (m *page) address(p passage.Part, l link, host string, kind words.Kind) {
	switch {
	case kind == words.Transient && !m.Full(passage.URLTransient, p.File):
		m.findLink(passage.URLTransient, p, l, secrets.Quote(rawAddress(p, l))+" leads to "+display.Echo(host))
	case kind == words.Address && !m.Full(passage.URLAddress, p.File):
		m.findLink(passage.URLAddress, p, l, secrets.Quote(rawAddress(p, l))+" has an address in place of a name")
	}
}

// rawAddress returns an address as written in the file; see [passage.Part.Around].
func rawAddress(p passage.Part, l link) string {
	if l.from >= l.to || p.Text[l.from:l.to] != l.url {
		return l.url
	}
	return p.File.Text[p.Offset(l.from) : p.Offset(l.to-1)+1]
}

// findLink reports a finding about a link. The text of the finding is the address of the link.
func (m *page) findLink(id skill.RuleID, p passage.Part, l link, message string) {
	q := p.Slice(l.from, l.to)
	if l.from == l.to || p.Text[l.from:l.to] != l.url {
		q = p.With(l.url, l.from)
	}
	m.Find(id, q, 0, len(q.Text), message)
}

// all yields the links, and then the bare addresses in a text.
func all(links []link, text string) iter.Seq[link] {
	return func(yield func(link) bool) {
		for _, l := range links {
			if !yield(l) {
				return
			}
		}
		for at := 0; ; {
			n := strings.Index(text[at:], "://")
			if n < 0 {
				return
			}
			from, to := addressAt(text, at+n)
			if to > from && !yield(link{text[from:to], from, to}) {
				return
			}
			at = max(to, at+n+len("://"))
		}
	}
}

// maxScheme and maxAddress limit the lengths of a scheme and of an address.
const (
	maxScheme  = 8
	maxAddress = 2 << 10
)

// addressAt returns the range of the address around a "://". The range is empty if there is no
// address.
func addressAt(text string, at int) (from, to int) {
	from = at
	for from > 0 && at-from < maxScheme && (text[from-1]|0x20 >= 'a' && text[from-1]|0x20 <= 'z') {
		from--
	}
	if scheme := text[from:at]; !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "ftp") {
		return at, at
	}
	to = at + len("://")
	end := min(len(text), to+maxAddress)
	if n := strings.IndexAny(text[to:end], " \t\r\n<>\"'`|\\^{}"); n >= 0 {
		end = to + n
	}
	trimmed := strings.TrimRight(text[to:end], ".,;:!?*_")
	for strings.HasSuffix(trimmed, ")") && strings.Count(trimmed, ")") > strings.Count(trimmed, "(") || strings.HasSuffix(trimmed, "]") && !strings.Contains(trimmed, "[") {
		trimmed = strings.TrimRight(trimmed[:len(trimmed)-1], ".,;:!?*_")
	}
	if trimmed == "" {
		return at, at
	}
	return from, to + len(trimmed)
}

// The sets list the extensions of programs, and of archives that can contain programs. Source: the
// file types about which Windows (AssocIsDangerous) and macOS (LSRiskCategory) warn.
var (
	programTypes = words.Set{Rows: ".exe .msi .dmg .pkg .deb .rpm .appimage .apk .scr .bat .cmd .vbs .hta .jar .msix .ps1 .command .run .bin"}
	archiveTypes = words.Set{Rows: ".zip .rar .7z .tar .tgz .gz .xz .bz2 .iso .cab .img"}
)

// download returns the kind of download that a file extension means, or "".
func download(ext string) string {
	switch {
	case programTypes.Has(ext):
		return "a program"
	case archiveTypes.Has(ext):
		return "an archive"
	}
	return ""
}

// linkedType returns the extension of the file that an address names, in lower case.
func linkedType(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if n := strings.IndexAny(rest, "?#"); n >= 0 {
		rest = rest[:n]
	}
	if !ok || !strings.Contains(rest, "/") {
		return ""
	}
	return strings.ToLower(path.Ext(rest))
}
