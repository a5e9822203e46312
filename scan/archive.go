package scan

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/scan/internal/secrets"
	"github.com/knack-dev/knack/skill"
)

// Limits of what is unpacked. They count bytes that arrive, whatever headers say.
const (
	// maxUnpacked bounds the bytes of all archives of a skill together. At 16 MB/s they take 2 s.
	maxUnpacked = 32 << 20
	// leastEntry is what an entry counts at least, so that there are not too many.
	leastEntry = 1 << 10
	maxNesting = 3
	// maxRatio bounds how many bytes one packed byte becomes, beyond the first freeRatio. Deflate
	// reaches 1,032, and documents 30.
	maxRatio  = 100
	freeRatio = 1 << 20
	// maxEntryName bounds the name of an entry, in bytes: PATH_MAX of the systems in use.
	maxEntryName = 4096
)

// hostile is an error about an archive that is made to harm its reader. Other errors are about
// archives that cannot be read.
type hostile string

func (h hostile) Error() string { return string(h) }

const errSwells = hostile("it unpacks to more than 100 times its size")

var (
	errDamaged  = errors.New("it is damaged, or was cut off")
	errTooLarge = fmt.Errorf("it has more than %d MiB", skill.MaxFile>>20)
	errTooMuch  = fmt.Errorf("the archives of the skill have more than %d MiB in them", maxUnpacked>>20)
)

// archive judges each entry of an archive as a file.
func (s *scanner) archive(name string, data []byte, depth int) {
	if depth == 0 {
		s.top = len(data)
	}
	ext := extension(name)
	if _, named := textKinds[ext]; named {
		s.unjudged(name, "it has the name of a text, and is an archive")
	}
	if compiledPackages[ext] {
		s.fact(factBinary, name)
		s.findFile(ruleProgram, name, "the file is a package of compiled code")
	}
	if depth >= maxNesting {
		s.fault(name, hostile(fmt.Sprintf("archives are nested more than %d deep", maxNesting)))
		return
	}
	var err error
	switch format := archiveOf(data); format {
	case "zip":
		err = s.zip(name, data, depth)
	case "gzip":
		err = s.gunzip(name, data, depth)
	case "tar", "":
		err = s.untar(name, data, depth)
	default:
		err = errors.New("archives of the format " + format + " are not opened")
	}
	if err != nil {
		s.fault(name, err)
	}
}

// fault notes what is wrong with an archive or an entry.
func (s *scanner) fault(name string, err error) {
	var h hostile
	if errors.As(err, &h) {
		s.findFile(ruleArchiveHostile, name, h.Error())
		return
	}
	s.unjudged(name, err.Error())
}

// entryEscapes writes what findings and their paths have a meaning for.
var entryEscapes = strings.NewReplacer("!", "%21", "\n", "%0A", "\r", "%0D", "\t", "%09")

// entryPath returns the path of an archive's entry for findings, without characters that would
// make it look like another.
func entryPath(archive, entry string) (string, error) {
	plain := strings.ReplaceAll(strings.ToValidUTF8(entry, "\uFFFD"), `\`, "/")
	switch {
	case len(entry) > maxEntryName:
		return "", hostile(fmt.Sprintf("it has a name of more than %d bytes", maxEntryName))
	case strings.HasPrefix(plain, "/"), len(plain) >= 2 && plain[1] == ':':
		return "", hostile("it has an absolute path, " + secrets.Quote(entry))
	case slices.Contains(strings.Split(plain, "/"), ".."):
		return "", hostile("it has a path that leads out of the folder, " + secrets.Quote(entry))
	case strings.IndexByte(entry, 0) >= 0:
		return "", hostile("it has a name with a zero byte, " + secrets.Quote(entry))
	}
	plain = entryEscapes.Replace(path.Clean(plain))
	return archive + "!" + display.Visible(plain, display.Escaped), nil
}

// spend counts bytes against what may be unpacked, and reports whether they may.
func (s *scanner) spend(n int) bool {
	s.unpacked += int64(max(n, leastEntry))
	return s.unpacked <= maxUnpacked
}

// unpack reads what so many packed bytes become, up to a limit. An archive in another counts
// against the outer one's size too. It returns what it read even if
// that is not all.
func (s *scanner) unpack(r io.Reader, packed, limit int) ([]byte, error) {
	swells := max(freeRatio, maxRatio*min(packed, s.top))
	left := int(max(maxUnpacked-s.unpacked, 0))
	most := min(swells, limit, left)
	var b bytes.Buffer
	_, err := b.ReadFrom(io.LimitReader(r, int64(most)+1))
	data := b.Bytes()
	if len(data) <= most {
		s.spend(len(data))
		if err != nil {
			err = errDamaged
		}
		return data, err
	}
	s.spend(most)
	switch most {
	case swells:
		return nil, errSwells
	case limit:
		return data[:most], errTooLarge
	}
	return data[:most], errTooMuch
}

// gunzip judges what gzip packed: a tar, or one file.
func (s *scanner) gunzip(name string, data []byte, depth int) error {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return errDamaged
	}
	unpacked, err := s.unpack(r, len(data), maxUnpacked)
	if len(unpacked) == 0 {
		return err
	}
	if archiveOf(unpacked) == "tar" {
		return errors.Join(s.untar(name, unpacked, depth), err)
	}
	base := baseOf(name)
	inner := strings.TrimSuffix(base, path.Ext(base))
	if strings.EqualFold(path.Ext(base), ".tgz") || inner == "" {
		inner += ".tar"
	}
	s.judge(name+"!"+inner, unpacked, depth+1)
	return err
}

// untar judges the files of a tar.
func (s *scanner) untar(name string, data []byte, depth int) error {
	if err := walkTar(data, func(h *tar.Header, _ io.Reader) error {
		if len(s.files) < maxUnpacked/leastEntry {
			if entry, err := entryPath(name, h.Name); err == nil {
				s.files[entry] = true
			}
		}
		return nil
	}); err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	return walkTar(data, func(h *tar.Header, content io.Reader) error {
		if h.Typeflag == tar.TypeXGlobalHeader {
			return nil
		}
		entry, err := entryPath(name, h.Name)
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir:
			return nil
		case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		case tar.TypeLink, tar.TypeSymlink:
			from := h.Name
			if h.Typeflag == tar.TypeLink {
				from = "" // its target is a path from the top
			}
			if leads(from, h.Linkname) {
				return hostile("it has a link that leads out of it, " + secrets.Quote(h.Name))
			}
			return nil // its target is judged in its own place
		default:
			return hostile("it has an entry that is no file, " + secrets.Quote(h.Name))
		}
		file, err := s.unpack(content, len(data), skill.MaxFile)
		if len(file) > 0 && err == nil {
			s.judge(entry, file, depth+1)
		}
		if errors.Is(err, errTooLarge) {
			s.fault(entry, err)
			return nil
		}
		return err
	})
}

// walkTar visits the entries of a tar, which has nothing behind its end.
func walkTar(data []byte, visit func(*tar.Header, io.Reader) error) error {
	in := bytes.NewReader(data)
	r := tar.NewReader(in)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errDamaged
		}
		if err := visit(h, r); err != nil {
			return err
		}
	}
	if rest := data[len(data)-in.Len():]; len(bytes.Trim(rest, "\x00")) > 0 {
		return errors.New("it has something behind its end")
	}
	return nil
}

// leads reports whether a link leads out of its archive. Links within are usual: source archives of
// many projects have some.
func leads(from, to string) bool {
	to = strings.ReplaceAll(to, "\\", "/")
	at := path.Join(path.Dir(from), to)
	return to == "" || path.IsAbs(to) || strings.Contains(to, ":") || at == ".." || strings.HasPrefix(at, "../")
}
