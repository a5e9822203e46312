package store

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// A record is a text: a line with the digest of the rest, and a line of JSON. A release or a
// layer adds the number of its skills and a line for each. A skill's line has tab-separated
// fields: the skill's digest and its main file's digest in hexadecimal, the main file, the path,
// and the fault, quoted as in Go. Absent fields are empty. The lines are not JSON because a
// server reads them at each start, and a pull without news spends most of its time on them: JSON
// took six times as long.

// maxRecord is the maximum size of a record, in bytes: some 800,000 skills.
const maxRecord = 128 << 20

// record is a [Release], a [Layer], a [Head] or a [Failure]. members returns its list of skills, or
// nil if its kind has no skills.
type record interface{ members() *[]Member }

func (r *Release) members() *[]Member { return &r.Skills }
func (l *Layer) members() *[]Member   { return &l.Skills }
func (h *Head) members() *[]Member    { return nil }

// sealed encodes a record with its digest.
func sealed(v record) ([]byte, error) {
	text, err := json.Marshal(v)
	text = append(text, '\n')
	if skills := v.members(); skills != nil {
		text = fmt.Appendln(text, len(*skills))
		for _, m := range *skills {
			text = m.append(text)
		}
	}
	return append([]byte(skill.DigestOf(text).String()+"\n"), text...), err
}

func (m *Member) append(text []byte) []byte {
	if m.Skill != (skill.Digest{}) {
		text = hex.AppendEncode(text, m.Skill[:])
	}
	text = append(text, '\t')
	if m.MainDigest != (skill.Digest{}) {
		text = hex.AppendEncode(text, m.MainDigest[:])
	}
	text = append(append(append(append(append(text, '\t'), m.Main...), '\t'), m.Path...), '\t')
	if m.Fault != "" {
		text = strconv.AppendQuote(text, m.Fault)
	}
	return append(text, '\n')
}

// parse parses a line. It refuses an invalid path, and a member with neither a digest nor a
// fault.
func (m *Member) parse(line []byte) (err error) {
	var fields [5][]byte
	for i := range fields {
		var more bool
		fields[i], line, more = bytes.Cut(line, []byte{'\t'})
		if more != (i < len(fields)-1) {
			return errors.New("a skill does not have five fields")
		}
	}
	if m.Path = string(fields[3]); m.Path != "." {
		if err := origin.CheckPath(m.Path); err != nil {
			return err
		}
	}
	if len(fields[4]) > 0 {
		if m.Fault, err = strconv.Unquote(string(fields[4])); err != nil {
			return err
		}
	}
	if len(fields[0]) > 0 || m.Fault == "" {
		if err := digits(&m.Skill, fields[0]); err != nil {
			return err
		}
	}
	for _, name := range skill.EntryNames { // one shared string for all skills
		if string(fields[2]) == name {
			m.Main = name
			return digits(&m.MainDigest, fields[1])
		}
	}
	return nil
}

// digits decodes a digest.
func digits(d *skill.Digest, text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return errors.New("a digest of another length")
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// load reads a record. A missing, unreadable or corrupt record is an [fs.ErrNotExist]: a crash may
// have truncated it, and its content can be fetched again. In that case, the value of v is
// undefined.
func (s *Store) load(at string, v record) error {
	f, err := os.OpenInRoot(filepath.Dir(at), filepath.Base(at))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			return s.fault(err)
		}
		return err
	}
	defer f.Close()
	if err := unseal(f, v); err != nil {
		return &fs.PathError{Op: "read", Path: at, Err: fs.ErrNotExist}
	}
	return nil
}

// unseal decodes a record while reading it, since a record of 100,000 skills is large.
func unseal(f io.Reader, v record) error {
	f = io.LimitReader(f, maxRecord)
	hash := sha256.New()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, 64<<10), maxRecord)
	line := func() ([]byte, error) {
		if !lines.Scan() {
			return nil, errors.Join(io.ErrUnexpectedEOF, lines.Err())
		}
		hash.Write(lines.Bytes())
		hash.Write([]byte{'\n'})
		return lines.Bytes(), nil
	}
	first, err := line()
	sum := string(first)
	hash.Reset()
	if err == nil {
		first, err = line()
	}
	if err == nil {
		err = json.Unmarshal(first, v)
	}
	if skills := v.members(); skills != nil && err == nil {
		*skills, err = parseAll(line)
	}
	switch {
	case err != nil:
		return err
	case lines.Scan():
		return errors.New("more lines than it should have")
	case sum != skill.Digest(hash.Sum(nil)).String():
		return errors.New("another digest")
	}
	return lines.Err()
}

// parseAll parses the skills of a record.
func parseAll(line func() ([]byte, error)) (all []Member, err error) {
	text, err := line()
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 {
		return nil, errors.New("no number of skills")
	}
	all = slices.Grow(all, min(n, 1<<17)) // the number is not verified yet
	for range n {
		text, err := line()
		if err != nil {
			return nil, err
		}
		var m Member
		if err := m.parse(text); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// keep writes a record atomically and durably, replacing an older one.
func (s *Store) keep(at string, v record) error {
	data, err := sealed(v)
	if err != nil {
		return err
	}
	if len(data) > maxRecord {
		return fmt.Errorf("a record of the store has more than %d MiB: the source has too many skills", maxRecord>>20)
	}
	for range 3 { // another process may write the same record
		old, failed := os.ReadFile(at)
		switch {
		case errors.Is(failed, fs.ErrNotExist):
			err = edit.Create(edit.Named(at), data, 0o600)
		case failed != nil:
			err = failed
		default:
			err = edit.Replace(edit.Named(at), old, data)
		}
		if !errors.Is(err, edit.ErrExists) && !errors.Is(err, edit.ErrChanged) {
			break
		}
	}
	return s.fault(err)
}
