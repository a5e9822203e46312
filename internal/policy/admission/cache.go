package admission

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/skill"
)

// verdictCache stores verdicts: the scan report on each set of files, and the files that each skill
// had. With a cache, a restarted server can decide which skills to serve before it has read a file.
// The cache is not trusted: files are compared with its digests while they are served.
//
// The file of the cache belongs to one user, one build and one set of lanes. A file that is
// damaged, from another build, or writable by another user is ignored.
type verdictCache struct {
	path, engine string
	now          func() time.Time

	mu      sync.Mutex
	reports map[skill.Digest]*cachedReport
	skills  map[string]judgedFiles // by place
	days    map[string]int64       // day when a place was last seen, counted from 1970
	dirty   bool
}

// judgedFiles are the files of a skill when it was judged, with the stamp of its SKILL.md.
type judgedFiles struct {
	Main  skill.Stamp
	Files []skill.File
	Set   skill.Digest // of the files
}

// Bounds of the file.
const (
	maxCache = 256 << 20
	keepDays = 30   // days for which an unseen skill stays in the cache
	spare    = 1000 // reports without a skill that stay in memory
)

// cachedReport is an encoded report. The parts that a verdict needs are also decoded.
type cachedReport struct {
	enforce, review int
	unread          bool
	rules           string // ids of the rules that fire, separated by spaces
	data            string // the report as JSON
}

// newVerdictCache returns a cache stored in a file, or only in memory if path or engine is empty.
// engine identifies the inputs of a report besides the files: the build and the lanes.
func newVerdictCache(path, engine string, now func() time.Time) *verdictCache {
	c := &verdictCache{path: path, engine: engine, now: now, reports: map[skill.Digest]*cachedReport{}, skills: map[string]judgedFiles{}, days: map[string]int64{}}
	if path == "" || engine == "" {
		c.path = ""
		return c
	}
	if data, err := edit.ReadOwn(path, maxCache); err == nil && len(data) <= maxCache {
		c.parse(data)
	}
	return c
}

func (c *verdictCache) today() int64 { return c.now().Unix() / (24 * 60 * 60) }

// recall returns the files that a skill had when it was last judged.
func (c *verdictCache) recall(place string) (judgedFiles, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.skills[place]
	return f, ok
}

// remember stores the files of a judged skill.
func (c *verdictCache) remember(place string, f judgedFiles) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if today := c.today(); c.days[place] != today {
		c.days[place], c.dirty = today, true
	}
	if was, ok := c.skills[place]; ok && was.Main == f.Main && was.Set == f.Set && slices.Equal(was.Files, f.Files) {
		return
	}
	c.skills[place], c.dirty = f, true
}

// report returns the report on a set of files, or nil.
func (c *verdictCache) report(set skill.Digest) *cachedReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reports[set]
}

// keep stores a report.
func (c *verdictCache) keep(set skill.Digest, r *scan.Report) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	k := &cachedReport{enforce: r.Enforce, review: r.Review, unread: r.Unread || r.TooLarge, data: string(data)}
	var ids []string
	for _, f := range r.Findings {
		if !slices.Contains(ids, string(f.Rule)) {
			ids = append(ids, string(f.Rule))
		}
	}
	slices.Sort(ids)
	k.rules = strings.Join(ids, " ")
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.reports) > 2*len(c.skills)+spare {
		c.prune()
	}
	c.reports[set], c.dirty = k, true
	return nil
}

// report returns the whole report.
func (k *cachedReport) report() *scan.Report {
	r := &scan.Report{}
	if json.Unmarshal([]byte(k.data), r) != nil {
		return nil
	}
	return r
}

// save writes the file, if anything has changed.
func (c *verdictCache) save() error {
	c.mu.Lock()
	if !c.dirty || c.path == "" {
		c.mu.Unlock()
		return nil
	}
	c.dirty = false
	data := c.append(nil)
	c.mu.Unlock()
	old, err := edit.Read(c.path, maxCache)
	if errors.Is(err, fs.ErrNotExist) {
		return edit.Create(edit.Named(c.path), data, 0o600)
	}
	if err != nil {
		return err
	}
	return edit.Replace(edit.Named(c.path), old, data)
}

// sumOf returns a CRC-32C, which processors compute fast. It detects corruption, not tampering: a
// forger needs the user's rights, and could change the policy itself. The table is made on each
// use, since a server that does not scan never needs it.
func sumOf(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

const magic = "knack verdicts 3\n"

// append encodes the file: the engine, the reports, the skills, and a checksum of everything before
// it. The caller holds mu.
func (c *verdictCache) append(b []byte) []byte {
	c.prune()
	b = append(b, magic...)
	b = appendText(b, c.engine)
	b = binary.AppendUvarint(b, uint64(len(c.reports)))
	for set, k := range c.reports {
		b = append(b, set[:]...)
		b = binary.AppendUvarint(b, uint64(k.enforce))
		b = binary.AppendUvarint(b, uint64(k.review))
		b = binary.AppendUvarint(b, map[bool]uint64{true: 1}[k.unread])
		b = appendText(b, k.rules)
		b = appendText(b, k.data)
	}
	b = binary.AppendUvarint(b, uint64(len(c.skills)))
	for place, f := range c.skills {
		b = appendText(b, place)
		b = binary.AppendVarint(b, c.days[place])
		b = appendStamp(b, f.Main)
		b = append(b, f.Set[:]...)
		b = binary.AppendUvarint(b, uint64(len(f.Files)))
		for _, file := range f.Files {
			b = appendText(b, file.Path)
			b = binary.AppendVarint(b, file.Size)
			b = append(b, file.Digest[:]...)
			b = appendStamp(b, file.Stamp)
		}
	}
	return binary.LittleEndian.AppendUint32(b, sumOf(b))
}

// prune drops skills that were not seen for keepDays, and reports without a skill. The caller holds
// mu.
func (c *verdictCache) prune() {
	oldest := c.today() - keepDays
	maps.DeleteFunc(c.skills, func(place string, _ judgedFiles) bool { return c.days[place] < oldest })
	maps.DeleteFunc(c.days, func(place string, _ int64) bool { _, ok := c.skills[place]; return !ok })
	used := map[skill.Digest]bool{}
	for _, f := range c.skills {
		used[f.Set] = true
	}
	maps.DeleteFunc(c.reports, func(set skill.Digest, _ *cachedReport) bool { return !used[set] })
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendStamp(b []byte, s skill.Stamp) []byte {
	// The size is fixed, since a server that starts reads thousands of stamps.
	for _, n := range [...]uint64{uint64(s.Size), uint64(s.MTime), uint64(s.CTime), s.Dev, s.Inode} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

// parse loads a file if it is intact and has the same engine.
func (c *verdictCache) parse(data []byte) {
	n := len(data) - crc32.Size
	if n < 0 || sumOf(data[:n]) != binary.LittleEndian.Uint32(data[n:]) || !bytes.HasPrefix(data, []byte(magic)) {
		return
	}
	r := &reader{rest: string(data[len(magic):n])} // texts share its memory
	if r.text() != c.engine {
		return
	}
	for range r.count() {
		set := r.digest()
		k := &cachedReport{enforce: int(r.uvarint()), review: int(r.uvarint()), unread: r.uvarint() == 1, rules: r.text()}
		k.data = r.text()
		c.reports[set] = k
	}
	for range r.count() {
		place, day := r.text(), r.varint()
		f := judgedFiles{Main: r.stamp(), Set: r.digest()}
		f.Files = make([]skill.File, r.count())
		for i := range f.Files {
			f.Files[i] = skill.File{Path: r.text(), Size: r.varint(), Digest: r.digest(), Stamp: r.stamp()}
		}
		c.skills[place], c.days[place] = f, day
	}
	if r.cut || r.rest != "" {
		clear(c.reports)
		clear(c.skills)
		clear(c.days)
	}
}

// reader decodes a file. After the end of the data, it returns zero values.
type reader struct {
	rest string
	cut  bool
}

func (r *reader) take(n uint64) string {
	if n > uint64(len(r.rest)) {
		r.rest, r.cut = "", true
		return ""
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

func (r *reader) uvarint() uint64 {
	if r.rest != "" && r.rest[0] < 0x80 { // nearly always
		n := uint64(r.rest[0])
		r.rest = r.rest[1:]
		return n
	}
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b := r.take(1)
		if b == "" {
			return 0
		}
		if n |= uint64(b[0]&0x7f) << shift; b[0] < 0x80 {
			return n
		}
	}
	r.cut = true
	return 0
}

func (r *reader) varint() int64 {
	n := r.uvarint()
	if n&1 != 0 {
		return ^int64(n >> 1)
	}
	return int64(n >> 1)
}

// count reads the number of records, each of which takes at least a byte.
func (r *reader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.rest, r.cut = "", true
		return 0
	}
	return int(n)
}

func (r *reader) text() string { return r.take(r.uvarint()) }

func (r *reader) digest() (d skill.Digest) {
	copy(d[:], r.take(uint64(len(d))))
	return d
}

func (r *reader) stamp() skill.Stamp {
	text := r.take(5 * 8)
	if text == "" {
		return skill.Stamp{}
	}
	n := func(i int) uint64 { return binary.LittleEndian.Uint64([]byte(text[8*i : 8*i+8])) }
	return skill.Stamp{Size: int64(n(0)), MTime: int64(n(1)), CTime: int64(n(2)), Dev: n(3), Inode: n(4)}
}
