package scan

import (
	"errors"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/archive"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
)

// archive judges each entry of an archive as a file.
func (s *scanner) archive(name string, data []byte, depth int) {
	ext := extension(name)
	if _, named := textKinds()[ext]; named {
		s.unjudged(name, "it has the name of a text, and is an archive")
	}
	if compiledPackages.Has(ext) {
		s.Fact(passage.FactBinary, name)
		s.findFile(passage.Program, name, "the file is a package of compiled code")
	}
	if err := s.budget.Walk(name, data, depth, entries{s}); err != nil {
		s.fault(name, err)
	}
}

// entries judges the entries of an archive. It implements [archive.Visitor].
type entries struct{ *scanner }

func (o entries) Entry(path string) {
	if len(o.files) < archive.MaxEntries {
		o.files[path] = true
	}
}

func (o entries) Locked(archive, entry string) {
	o.findFile(passage.DownloadLocked, archive, "an archive in the skill is encrypted: "+secrets.Quote(entry))
}

func (o entries) File(path string, data []byte, depth int) { o.scanContent(path, data, depth) }

func (o entries) Fault(path string, err error) { o.fault(path, err) }

// fault reports an error of an archive or of an entry.
func (s *scanner) fault(name string, err error) {
	var h archive.Hostile
	var large archive.TooLarge
	switch {
	case errors.As(err, &h):
		s.findFile(passage.ArchiveHostile, name, h.Error())
	case errors.As(err, &large):
		s.TooLarge(name, err.Error())
	default:
		s.unjudged(name, err.Error())
	}
}
