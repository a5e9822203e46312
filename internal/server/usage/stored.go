package usage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

// version is the version of the stored form.
const version = 1

// stored is the JSON form of the counts.
type stored struct {
	Version int                              `json:"version"`
	Since   time.Time                        `json:"since"`
	Skills  map[string]map[string]storedPair `json:"skills"` // by URI and client
	Missing map[string]missed                `json:"missing"`
}

type storedPair struct {
	Counts
	Last  week               `json:"last"`            // the week of the last count
	Weeks map[week][2]uint32 `json:"weeks,omitempty"` // loads and reads
}

// Encode returns the counts in the form that [Tally.Restore] reads. It omits skills and names that
// were not used or requested in the last [Weeks] weeks. It also omits names that were requested
// only once.
func (t *Tally) Encode() []byte {
	b, err := rawjson.Marshal(t.stored())
	if err != nil {
		panic(err) // these types can be encoded
	}
	return append(b, '\n')
}

// stored copies the counts under the lock, so that no call waits for the encoding.
func (t *Tally) stored() stored {
	oldest := weekOf(time.Now()) - Weeks
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fold()
	s := stored{Version: version, Since: t.since, Skills: make(map[string]map[string]storedPair, len(t.skills)), Missing: map[string]missed{}}
	for uri, uses := range t.skills {
		by := make(map[string]storedPair, len(uses.by))
		for i := range uses.by {
			p := &uses.by[i]
			if p.last <= oldest {
				continue
			}
			saved := storedPair{Counts: p.Counts, Last: p.last}
			if len(p.weeks) > 0 {
				saved.Weeks = make(map[week][2]uint32, len(p.weeks))
			}
			for _, w := range p.weeks {
				if w.at > oldest {
					saved.Weeks[w.at] = [2]uint32{w.loaded, w.read}
				}
			}
			by[t.clients[p.client]] = saved
		}
		if len(by) > 0 {
			s.Skills[uri] = by
		}
	}
	for name, m := range t.missing {
		if m.Times >= leastAsked && m.Last > oldest {
			s.Missing[name] = *m
		}
	}
	return s
}

// Errors of [Tally.Restore].
var (
	errVersion = errors.New("it is of another version of knack")
	errNumber  = errors.New("it has a number that is too large")
)

// maxCount bounds a stored number, so that sums never overflow.
const maxCount = math.MaxInt64 / maxPairs / 2

// Restore adds the counts that an earlier process encoded. If it returns an error, it has added
// nothing.
func (t *Tally) Restore(data []byte) error {
	var v struct{ Version int }
	if err := json.Unmarshal(data, &v); err != nil {
		return readError(err)
	}
	if v.Version != version {
		return errVersion
	}
	var s stored
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return readError(err)
	}
	used := map[string]uint64{}
	for _, by := range s.Skills {
		for client, p := range by {
			if max(p.Offered, p.Loaded, p.Read) > maxCount {
				return errNumber
			}
			used[client] += min(p.Used(), maxCount)
		}
	}
	for _, m := range s.Missing {
		if m.Times > maxCount {
			return errNumber
		}
	}
	t.add(s, mostActive(used))
	return nil
}

// readError describes an error of the JSON package.
func readError(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input":
		return errors.New("it is cut short")
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not JSON at byte %d", syntax.Offset)
	}
	return errors.New("it is JSON of another kind")
}

// mostActive returns the clients that keep their names after a restart: those with the most uses.
// The others make room, since clients can choose any names.
func mostActive(used map[string]uint64) map[string]bool {
	names := slices.SortedFunc(maps.Keys(used), func(a, b string) int { return cmp.Or(cmp.Compare(used[b], used[a]), cmp.Compare(a, b)) })
	keep := map[string]bool{}
	for _, name := range names[:min(len(names), keptClients)] {
		keep[name] = true
	}
	return keep
}

func (t *Tally) add(s stored, keep map[string]bool) {
	now := weekOf(time.Now())
	t.mu.Lock()
	defer t.mu.Unlock()
	if !s.Since.IsZero() && s.Since.Before(t.since) {
		t.since = s.Since.UTC()
	}
	for uri, by := range s.Skills {
		if len(uri) > maxStoredURI {
			continue
		}
		for client, saved := range by {
			if !keep[client] {
				client = others
			}
			last := min(saved.Last, now) // the clock may have been wrong
			if last <= now-Weeks {
				continue
			}
			p := t.pair(uri, t.indexOf(client))
			if p == nil {
				t.beyond++
				continue
			}
			p.Counts.add(saved.Counts)
			p.before.add(saved.Counts)
			p.last = max(p.last, last)
			for at, n := range saved.Weeks {
				if at <= now && at > now-Weeks {
					t.inWeek(p, at, n[0], n[1])
				}
			}
			t.addUses(uri, saved.Used())
		}
	}
	for name, m := range s.Missing {
		if nameable(name) == name && m.Times >= leastAsked && m.Last > now-Weeks {
			t.miss(name, m.Times, min(m.Last, now))
		}
	}
}

// maxStoredURI bounds the URI of a skill in the stored form, in bytes. No path is longer.
const maxStoredURI = 16 << 10
