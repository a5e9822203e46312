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
	"github.com/knack-dev/knack/internal/policy/quarantine"
	"github.com/knack-dev/knack/skill"
)

// Cache keeps what was judged: the reports of sets of files, and which files a skill had. A server
// that starts again knows by it what to serve before it has read a file. It is only a memory: what
// is served is compared with the digests in it while it is read.
//
// The file is one of this user, for one build and one set of lanes. A file that is damaged, of another
// build, or that another user can have written is as good as none.
type Cache struct {
	path, engine string
	now          func() time.Time

	mu      sync.Mutex
	reports map[skill.Digest]*kept
	skills  map[string]quarantine.Files // by place
	days    map[string]int64            // when a place was seen last, in days since 1970
	dirty   bool
}

// Bounds of the file.
const (
	maxCache = 256 << 20
	keepDays = 30   // how long a skill is known that was not seen
	spare    = 1000 // reports of no skill that are kept in memory
)

// kept is a report, and what of it a verdict needs.
type kept struct {
	enforce, review int
	unread          bool
	rules           string // ids of the rules that fire, separated by spaces
	data            string // the report as JSON
}

// NewCache returns a cache that is kept in a file, or in memory alone if path or engine is empty.
// engine names what else a report depends on beside the files: the build, and the lanes.
func NewCache(path, engine string, now func() time.Time) *Cache {
	c := &Cache{path: path, engine: engine, now: now, reports: map[skill.Digest]*kept{}, skills: map[string]quarantine.Files{}, days: map[string]int64{}}
	if path == "" || engine == "" {
		c.path = ""
		return c
	}
	if data, err := edit.ReadOwn(path, maxCache); err == nil && len(data) <= maxCache {
		c.parse(data)
	}
	return c
}

func (c *Cache) today() int64 { return c.now().Unix() / (24 * 60 * 60) }

// Recall implements [hold.Memory].
func (c *Cache) Recall(place string) (quarantine.Files, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.skills[place]
	return f, ok
}

// Remember implements [hold.Memory].
func (c *Cache) Remember(place string, f quarantine.Files) {
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

// report returns what is known about a set of files, or nil.
func (c *Cache) report(set skill.Digest) *kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reports[set]
}

// keep keeps a report.
func (c *Cache) keep(set skill.Digest, r *scan.Report) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	k := &kept{enforce: r.Enforce, review: r.Review, unread: r.Unread || r.TooLarge, data: string(data)}
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
func (k *kept) report() *scan.Report {
	r := &scan.Report{}
	if json.Unmarshal([]byte(k.data), r) != nil {
		return nil
	}
	return r
}

// Save writes the file, if there is something new.
func (c *Cache) Save() error {
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

// sumOf returns the sum that processors compute. It finds damage, and is no proof against a forger, who
// needs the user's rights, and with these could change the policy itself. Its tables are made when it is
// used: a server that does not scan needs none.
func sumOf(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

const magic = "knack verdicts 3\n"

// append writes the file: the engine, then reports and skills, then the sum of all that. The
// caller holds mu.
func (c *Cache) append(b []byte) []byte {
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

// prune drops the skills that were not seen for long, and the reports of no skill. The caller holds
// mu.
func (c *Cache) prune() {
	oldest := c.today() - keepDays
	maps.DeleteFunc(c.skills, func(place string, _ quarantine.Files) bool { return c.days[place] < oldest })
	maps.DeleteFunc(c.days, func(place string, _ int64) bool { _, ok := c.skills[place]; return !ok })
	used := map[skill.Digest]bool{}
	for _, f := range c.skills {
		used[f.Set] = true
	}
	maps.DeleteFunc(c.reports, func(set skill.Digest, _ *kept) bool { return !used[set] })
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendStamp(b []byte, s skill.Stamp) []byte {
	// Of a fixed size, since a start reads thousands of them.
	for _, n := range [...]uint64{uint64(s.Size), uint64(s.MTime), uint64(s.CTime), s.Dev, s.Inode} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

// parse takes in a file, if it is whole and of this engine.
func (c *Cache) parse(data []byte) {
	n := len(data) - crc32.Size
	if n < 0 || sumOf(data[:n]) != binary.LittleEndian.Uint32(data[n:]) || !bytes.HasPrefix(data, []byte(magic)) {
		return
	}
	r := &reader{rest: string(data[len(magic):n])} // texts share it
	if r.text() != c.engine {
		return
	}
	for range r.count() {
		set := r.digest()
		k := &kept{enforce: int(r.uvarint()), review: int(r.uvarint()), unread: r.uvarint() == 1, rules: r.text()}
		k.data = r.text()
		c.reports[set] = k
	}
	for range r.count() {
		place, day := r.text(), r.varint()
		f := quarantine.Files{Main: r.stamp(), Set: r.digest()}
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

// reader reads a file. After its end, everything is zero.
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

// count returns a number of records, each of which takes a byte at least.
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
